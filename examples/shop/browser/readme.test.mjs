// The page of the README, cut out of it and served unchanged: three clicks and a reload in
// flight are one order.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { build, root, serve, suite, until } from './shop.mjs'

const snippets = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```html\n(.*?)^```$/gms)].map(match => match[1])
const dir = mkdtempSync(join(tmpdir(), 'idem-readme-'))
after(() => rmSync(dir, { recursive: true, force: true }))
const file = join(dir, 'page.html')
writeFileSync(file, snippets[0] ?? '')

const program = build('./examples/shop/browser/onepage')
const run = suite(() => serve(program, '-page', file, '-takes', '5s'))
const orders = async (page, url) => Number(await (await page.request.get(url + '/orders')).text())

run('the README has one page, and it is whole', async ({ page, url }) => {
  assert.equal(snippets.length, 1, 'html snippets in README.md')
  await page.goto(url)
  assert.equal(await page.content().then(text => text.includes('data-idem=')), true)
  assert.equal(await page.evaluate(() => typeof window.idem?.createIdem), 'function')
})

run('given three clicks and a reload in flight, then one order', async ({ page, url }) => {
  const before = await orders(page, url)
  await page.goto(url)
  const posts = []
  page.on('request', r => r.method() === 'POST' && r.url().endsWith('/orders') && posts.push(r))
  const button = page.locator('form[data-idem] button')
  const box = await button.boundingBox()
  for (let i = 0; i < 3; i++) {
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
    await page.waitForTimeout(150)
  }
  assert.equal(posts.length, 1, 'requests for an order')
  assert.equal(await orders(page, url), before, 'the order is still on its way')
  await page.goto(url) // as the browser does on reload: what is in flight is dropped
  await until(async () => await orders(page, url) === before + 1, 'the order was placed')
  const kept = () => page.evaluate(() => Object.keys(sessionStorage).filter(key => key.startsWith('idem:')).length)
  await until(async () => await kept() === 0, 'the page has settled it')
  assert.equal(posts.length, 1, 'nothing was sent again')
  assert.equal(await orders(page, url), before + 1)
})

// The forms of examples/echo and examples/fiber in a real browser, with their JavaScript and
// without: however often the button is pressed, one order.
import assert from 'node:assert/strict'
import { build, serve, suite, until } from './shop.mjs'

for (const framework of ['echo', 'fiber']) {
  const program = build('./examples/' + framework)
  const run = suite(() => serve(program, '-charging', '3s')) // the second press comes meanwhile, on a busy machine too
  const rows = async page => {
    await page.goto(page.url().split('?')[0])
    return await page.locator('table tr').count() - 1 // the first one is the head
  }
  // The second press comes when the first one's request has left: pressed any faster, the browser
  // itself drops the first, and nothing would be shown.
  const press = async page => {
    await page.locator('input[name=item]').fill('Emma')
    const box = await page.locator('form[data-idem] button').boundingBox()
    const click = () => page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
    const left = page.waitForRequest(r => r.method() === 'POST' && r.url().endsWith('/orders'))
    await click()
    await left
    await click()
  }

  run(framework + ': given two clicks with idem.js, then one request and one order', async ({ page, url }) => {
    const posts = []
    page.on('request', r => r.method() === 'POST' && r.url().endsWith('/orders') && posts.push(r))
    await page.goto(url)
    await until(() => page.evaluate(() => typeof window.idem?.createIdem === 'function'), 'idem.js is there')
    await press(page)
    await until(() => page.url().includes('placed='), 'the page shows the order')
    assert.equal(posts.length, 1, 'requests for an order')
    assert.equal(await rows(page), 1)
  })

  run(framework + ': given two clicks without JavaScript, then one order, and the page shows it', async ({ page, url }) => {
    await page.goto(url)
    await press(page)
    await until(() => page.url().includes('placed='), 'the page shows the order')
    assert.equal(await rows(page), 1)
  }, { javaScriptEnabled: false })

  run(framework + ': given a form without a title, then it comes back and orders once it is corrected', async ({ page, url }) => {
    await page.goto(url)
    await page.locator('form[data-idem] button').click()
    await page.locator('[role=alert]').waitFor()
    await press(page)
    await until(() => page.url().includes('placed='), 'the page shows the order')
    assert.equal(await rows(page), 1)
  })

  run(framework + ': given the form that idem.js sends, two clicks and an empty title, then the line says what became of each, and one order', async ({ page, url }) => {
    await page.goto(url)
    await page.getByRole('link', { name: 'have it sent by script' }).click()
    await page.locator('form[data-idem-mode=fetch]').waitFor()
    await page.locator('form[data-idem] button').click()
    await page.getByText('Not accepted, and nothing was done.').waitFor()
    await press(page)
    await until(() => page.url().includes('placed='), 'the page shows the order')
    assert.equal(await rows(page), 1)
  })
}

// idem-status.js: what a person reads, and what a screen reader is told.
import assert from 'node:assert/strict'
import { html, suite, until } from './browser.mjs'

const run = suite()
const form = (more = '') => `<form method="post" action="/orders" id="order" data-idem="shop:order:create" data-idem-mode="fetch">
  <input name="qty" value="2"><button>Order</button><p data-idem-status ${more}></p></form><p id="away" data-idem-status="order"></p>`
const open = async (page, s, body = form(), lang = 'en') => {
  s.pages['/'] = html(body).replace('<body>', `<script src="/idem.status.min.js" defer></script><body lang="${lang}">`)
  await page.goto(s.url)
}
const said = page => page.locator('form [data-idem-status]').innerText()
const becomes = (page, text) => until(async () => (await said(page)).includes(text), text)

run('given a press, then both lines say so, as live regions', async ({ page, s }) => {
  await open(page, s)
  const release = s.hold()
  const line = page.locator('form [data-idem-status]')
  assert.deepEqual([await line.getAttribute('role'), await said(page)], ['status', ''])
  await page.locator('button').click()
  await becomes(page, 'On its way')
  release()
  await becomes(page, 'Done.')
  assert.equal(await line.getAttribute('data-idem-said'), 'settle')
  assert.equal(await page.locator('#away').innerText(), 'Done.')
})

run('given no answer, then it says that it may have been done, and never that it failed', async ({ page, s }) => {
  await open(page, s)
  s.plan = ['503', '503', '503', '503']
  await page.locator('button').click()
  await becomes(page, 'not done twice')
  assert.match(await said(page), /Nobody has said yet whether it was done/)
  await page.locator('button').click()
  await becomes(page, 'Done.')
  assert.equal(s.orders.length, 1)
})

run('given a page in Chinese, then it speaks Chinese', async ({ page, s }) => {
  await open(page, s, form(), 'zh-Hans')
  s.plan = ['422']
  await page.locator('button').click()
  await becomes(page, '可以修改后再提交')
  await page.locator('button').click()
  await becomes(page, '已完成')
})

run('given texts of its own, then they are said, and an empty one says nothing', async ({ page, s }) => {
  await open(page, s, form('data-idem-text-settle="Your order stands." data-idem-text-send=""'))
  await page.evaluate(() => { window.idem.texts.en.ready = 'Please look at it again.' })
  s.plan = ['422']
  await page.locator('button').click()
  await becomes(page, 'Please look at it again.')
  await page.locator('button').click()
  await becomes(page, 'Your order stands.')
})

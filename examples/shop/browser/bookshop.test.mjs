// The small examples of Echo and Fiber, in both modes of a form: the browser sends it, or idem.js.
import assert from 'node:assert/strict'
import { build, serve, suite } from './shop.mjs'

for (const framework of ['echo', 'fiber']) {
  const program = build('./examples/' + framework)
  const run = suite(() => serve(program, '-addr', '127.0.0.1:0'))
  for (const [by, path] of [['the browser', '/'], ['script', '/?by=script']]) {
    run(`given the example of ${framework}, sent by ${by}, and a double click, then one order more`, async ({ page, url }) => {
      await page.goto(url + path)
      const rows = page.locator('table tr')
      const before = await rows.count()
      await page.locator('[name=item]').fill('A book')
      await page.getByRole('button', { name: 'Order' }).dblclick({ noWaitAfter: true })
      await page.waitForFunction(n => document.querySelectorAll('table tr').length > n, before)
      assert.equal(await rows.count(), before === 0 ? 2 : before + 1) // with the head of the table
    })
  }
  run(`given the example of ${framework} and an empty title, sent by script, then the line says that nothing was done`, async ({ page, url }) => {
    await page.goto(url + '/?by=script')
    await page.getByRole('button', { name: 'Order' }).click()
    await page.getByText('Not accepted, and nothing was done.').waitFor()
  })
}

// Presses the lab's button and writes down what it prints, for the page that explains why a 425
// is no reason to order anew: docs/explanation/why-not-refresh-and-retry.{json,svg}.
//
//     node examples/shop/browser/record.mjs [presses]
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { draw } from './draw.mjs'
import { build, root, serve, suite } from './shop.mjs'

const count = Number(process.argv[2]) || 20
const program = build('./examples/shop')
const run = suite(() => serve(program))
const file = join(root, 'docs/explanation/why-not-refresh-and-retry')

run(`${count} presses`, async ({ page, context, url }) => {
  let last
  page.on('request', req => { if (/\/runs\/[^/]+$/.test(req.url())) last = req.url() })
  await page.goto(url + '/lab')
  const kept = []
  for (let i = 0; i < count; i++) {
    await page.locator('#press').click()
    await page.locator('#press:not([disabled])').waitFor()
    kept.push(await page.evaluate(url => fetch(url).then(res => res.json()), last))
  }
  // What says nothing about the course of things: which send, which connection.
  const plain = ({ naive, ours }) => Object.fromEntries(Object.entries({ naive, ours }).map(([name, side]) => [name, {
    orders: side.orders, arrived: side.arrived.map(({ again, token, order, reset, status, verdict }) => ({ again, token, order, reset, status, verdict }))
  }]))
  const all = kept.map(plain)
  const alike = all.filter(one => JSON.stringify(one) === JSON.stringify(all[0])).length
  const record = {
    presses: { count, alike, browser: 'Chromium ' + context.browser().version().split('.')[0] },
    sold: { naive: all.reduce((n, one) => n + one.naive.orders, 0), ours: all.reduce((n, one) => n + one.ours.orders, 0) },
    wire: { naive: all.reduce((n, one) => n + one.naive.arrived.length, 0), ours: all.reduce((n, one) => n + one.ours.arrived.length, 0) },
    runs: [all[0]]
  }
  writeFileSync(file + '.json', JSON.stringify(record, null, 1) + '\n')
  writeFileSync(file + '.svg', draw(record))
  console.log(JSON.stringify({ ...record, runs: undefined }))
})

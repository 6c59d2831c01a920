// The trouble lab in a browser that sends again by itself: the usual helper buys twice, idem.js
// once (FRONTEND section 5, behaviour 31, with its control).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { draw } from './draw.mjs'
import { build, root, serve, suite } from './shop.mjs'

const program = build('./examples/shop')
const run = suite(() => serve(program, '-lease', '8s'))

const page = join(root, 'docs/explanation/why-not-refresh-and-retry')
const record = JSON.parse(readFileSync(page + '.json', 'utf8'))

run('given the picture in the docs, then it is drawn from the record, and the page tells its figures', async () => {
  assert.equal(readFileSync(page + '.svg', 'utf8'), draw(record), 'node examples/shop/browser/record.mjs')
  const text = readFileSync(page + '.md', 'utf8')
  const { presses, sold, wire } = record
  for (const row of [
    `${presses.count} presses in ${presses.browser}, the same each time in ${presses.alike}`,
    `| requests that reached the shop | ${wire.naive} | ${wire.ours} |`, `| bowls sold | ${sold.naive} | ${sold.ours} |`
  ]) assert.ok(text.includes(row), row)
})

// Faults: 69.
run('given one press each and a reset after the commit, then the usual helper buys twice and idem.js once', async ({ page, url }) => {
  await page.goto(url)
  await page.getByRole('link', { name: 'Open the lab' }).click()
  await page.waitForURL('**/lab')
  for (const press of ['first', 'second']) {
    await page.locator('#press').click()
    await page.locator('#came').waitFor()
    await page.locator('#press:not([disabled])').waitFor()
    const count = async name => (await page.locator(`[data-count=${name}]`).allInnerTexts()).map(text => text.trim())
    assert.deepEqual(
      { sends: await count('sends'), wire: await count('wire'), tokens: await count('tokens'), orders: await count('orders') },
      { sends: ['2', '1'], wire: ['3', '2'], tokens: ['2', '1'], orders: ['2', '1'] }, press + ' press')
    const told = a => [a.again ? 'the browser, by itself' : 'the script', 'token ' + a.token].join(' · ')
    const rows = record.runs[0]
    const now = (await page.locator('#came tbody tr').all()).map(row => row.locator('td'))
    for (const [i, row] of now.entries()) {
      for (const [j, side] of [rows.naive, rows.ours].entries()) {
        const cell = (await row.nth(j).innerText()).split('\n').filter(Boolean).join(' · ')
        assert.ok(side.arrived[i] ? cell.startsWith(told(side.arrived[i])) : cell === '', `row ${i + 1}, recorded: ${JSON.stringify(side.arrived[i])}, now: ${cell}`)
      }
    }
    const cells = (await page.locator('#came tbody td').allInnerTexts()).map(text => text.split('\n').filter(Boolean).join(' · '))
    assert.deepEqual(cells, [
      'the script · token 1 · bowl 1 sold · answer lost: the connection is reset', 'the script · token 1 · bowl 1 sold · answer lost: the connection is reset',
      'the browser, by itself · token 1 · 425: this token is used up', 'the browser, by itself · token 1 · replayed: the kept answer, nothing is sold',
      'the script · token 2 · bowl 2 sold', ''
    ])
    assert.match(await page.locator('#came .sum').innerText(), /The usual helper bought two bowls, idem\.js bought one\.\s.*425.*ordered anew/s)
  }
})

run('given no JavaScript, then the lab says that it needs some', async ({ page, url }) => {
  await page.goto(url + '/lab')
  assert.ok(await page.locator('#needs-script').isVisible())
  assert.ok(!await page.locator('#press').isVisible())
}, { javaScriptEnabled: false })

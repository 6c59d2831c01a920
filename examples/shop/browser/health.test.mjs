// The page on which the shop shows itself, in a real browser: duplicates are staged, and the four
// golden figures stand against their thresholds, each with its chart.
import assert from 'node:assert/strict'
import { build, serve, suite } from './shop.mjs'

const program = build('./examples/shop')
const run = suite(() => serve(program, '-store', 'memory'))

/** What the page says: by figure its number, its threshold, and whether it is over the line. */
const figures = page => page.locator('.figure').evaluateAll(cards => Object.fromEntries(cards.map(card => {
  const box = card.querySelector('svg').viewBox.baseVal
  const line = card.querySelector('svg line').y1.baseVal.value
  const points = [...card.querySelector('polyline').points].map(p => [p.x, p.y])
  return [card.querySelector('h2').textContent, {
    value: card.querySelector('strong').textContent,
    says: card.querySelector('.chip').textContent,
    threshold: card.querySelector('p').lastChild.textContent.trim(),
    label: card.querySelector('svg').getAttribute('aria-label'),
    last: points.at(-1), line,
    inside: points.every(([x, y]) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height)
  }]
})))

/** Presses a trouble's button on the shop's page, as often as said. */
const stage = async (page, url, name, times = 1) => {
  for (let n = 0; n < times; n++) await page.request.post(url + '/trouble/' + name)
}

run('given a shop that was asked nothing, then each figure says so, and that nothing is good or bad yet', async ({ page, url }) => {
  await page.goto(url + '/health')
  const all = await figures(page)
  assert.deepEqual(Object.keys(all), ['Issue success', 'Refusal rate', 'Token age', 'Abnormal releases'])
  for (const [name, f] of Object.entries(all)) assert.deepEqual([f.value, f.says, f.last], ['–', 'nothing yet', undefined], name)
  assert.equal(await page.locator('#changes tbody tr').count(), 0)
})

run('given staged duplicates, then the refusal rate is over its line, and the other figures are not', async ({ page, url }) => {
  await stage(page, url, 'double-click', 3)
  await stage(page, url, 'changed-cart', 3) // each is refused once: another order under the same form
  await page.goto(url)
  await page.getByRole('link', { name: 'How the guard is doing' }).click()
  await page.waitForURL('**/health')
  const all = await figures(page)
  const refused = all['Refusal rate']
  assert.match(refused.value, /^[\d.]+ %$/)
  assert.ok(Number.parseFloat(refused.value) > 5, 'refused: ' + refused.value)
  assert.equal(refused.says, 'over the line')
  assert.equal(refused.threshold, 'at most 5.0 %')
  assert.ok(refused.last[1] < refused.line, 'the chart ends above its threshold')
  assert.deepEqual(all['Issue success'], { ...all['Issue success'], value: '100.0 %', says: 'good', threshold: 'at least 99.5 %' })
  assert.deepEqual(all['Abnormal releases'], { ...all['Abnormal releases'], value: '0.0 %', says: 'good', threshold: 'at most 1.0 %' })
  assert.match(all['Token age'].value, /^\d+ s$/)
  for (const [name, f] of Object.entries(all)) {
    assert.ok(f.inside, name + ': the chart leaves its box')
    assert.equal(f.label, `${name}: ${f.value}, ${f.threshold}`, 'for who does not see the chart')
    assert.equal(f.last[0], 240, name + ': the newest stands at the right')
  }
  const changes = await page.locator('#changes tbody tr').allTextContents()
  assert.ok(changes.length > 0 && changes.length <= 12, changes.length + ' changes')
  assert.ok(changes.some(c => c.includes('claim')) && changes.some(c => c.includes('complete')), changes.join('\n'))
})

run('given the page without JavaScript, in the dark and on a phone, then it shows the same and nothing sticks out', async ({ page, url }) => {
  await page.goto(url + '/health')
  assert.equal((await figures(page))['Refusal rate'].says, 'over the line')
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.ok(over <= 0, over + ' px wider than the screen')
}, { javaScriptEnabled: false, colorScheme: 'dark', viewport: { width: 360, height: 780 } })

// The troubles, played in the page by idem.js: every button reads its outcome, and the shop's
// own order table says the same.
import assert from 'node:assert/strict'
import { build, serve, suite, tables } from './shop.mjs'

const program = build('./examples/shop')

// How many orders there must be, and what must have reached the shop (a list), or its end.
const promised = {
  'double-click': [1, ['executed']],
  'lost-answer': [1, 'replayed'],
  'slow-shop': [1, ['executed', 'replayed']],
  storm: [1, ['executed']],
  refused: [1, ['released', 'executed', 'replayed']],
  'changed-cart': [1, ['executed', 'conflict']],
  'two-tabs': [2, ['executed', 'replayed', 'executed']],
  'tea-break': [1, ['dead', 'executed']],
  'late-press': [1, ['executed', 'replayed']],
  'crash-before': [1, 'executed'],
  'crash-after': [1, 'uncertain'],
  'busy-proxy': [1, ['busy', 'executed']],
  reload: [1, ['executed']]
}

const endTogether = new Set(['slow-shop', 'two-tabs'])

/** Presses the button of a trouble and gives what the page says in the end. */
async function press(page, name) {
  await page.locator(`form[data-scene="${name}"] button`).click()
  await page.locator('#played[data-ended]').waitFor({ timeout: 90e3 })
  return page.locator('#played .sum strong').innerText()
}

const run = suite(() => serve(program, '-lease', '4s')) // longer than a busy machine stands still, and shorter than a page waits

run('every button of the page is promised something', async ({ page, url }) => {
  await page.goto(url)
  const buttons = await page.locator('form[data-scene]').evaluateAll(forms => forms.map(form => form.dataset.scene))
  assert.deepEqual(buttons.toSorted(), Object.keys(promised).toSorted())
})

for (const [name, [orders, came]] of Object.entries(promised)) {
  run(`given ${name} in the page, then ${orders} order(s) and ${came}`, async ({ page, url }) => {
    await page.goto(url)
    const says = await press(page, name)
    assert.equal(says, orders === 1 ? 'One order, as it should be.' : `${orders} orders, as it should be.`)
    const now = await tables(page, url)
    assert.equal(now.orders.length, orders)
    // Who waited for a run may have its answer before the run's own request is logged.
    const [first, second, ...rest] = now.requests
    const told = endTogether.has(name) ? [...[first, second].toSorted(), ...rest] : now.requests
    if (Array.isArray(came)) assert.deepEqual(told, came)
    else assert.equal(now.requests.at(-1), came)
    assert.equal(await page.locator('#orders tr.fresh').count(), orders, 'the page’s own table shows them')
  })
}

run('given an answer that gets lost, then the page says what it did, in order', async ({ page, url }) => {
  await page.goto(url)
  await press(page, 'lost-answer')
  const did = await page.locator('#played .did li > span:first-child').allInnerTexts()
  assert.deepEqual(did.slice(0, 6), [
    'Pressed the button.', 'Asked the shop for a token.', 'Wrote the token down and sent the order.',
    'No answer came. The order may have been placed, so the token is kept.', 'Sent it again, with the same token.',
    'The shop had done it already and sent the kept answer.'
  ])
  assert.deepEqual(new Set(await page.locator('#played .wire .token').allInnerTexts()), new Set(['token 1']))
})

run('given a scene, then it can be played again, and by the shop without JavaScript', async ({ page, url }) => {
  await page.goto(url)
  await press(page, 'changed-cart')
  await page.locator('[data-again]').click()
  await page.locator('#played:not([data-ended])').waitFor()
  await page.locator('#played[data-ended="true"]').waitFor()
  assert.equal((await tables(page, url)).orders.length, 2)
  await page.locator('[data-ours]').click()
  await page.waitForURL('**/played/*')
  assert.match(await page.locator('#played').innerText(), /Staged just now[\s\S]*One order, as it should be\./)
})

const without = suite(() => serve(program, '-without=guard', '-store', 'memory'))

for (const [name, says] of [['lost-answer', /orders in the table\. It should be 1 order\./], ['changed-cart', /2 orders in the table/], ['double-click', /the answers are not/]]) {
  without(`given ${name} without the guard, then the page says that it came out wrong`, async ({ page, url }) => {
    await page.goto(url)
    assert.match(await press(page, name), says)
  })
}

for (const adapter of ['echo', 'fiber']) {
  const other = suite(() => serve(program, '-adapter', adapter, '-store', 'memory'))
  for (const name of ['lost-answer', 'reload']) {
    other(`given ${name} on ${adapter}, then one order`, async ({ page, url }) => {
      await page.goto(url)
      assert.equal(await press(page, name), 'One order, as it should be.')
      assert.equal((await tables(page, url)).orders.length, 1)
    })
  }
}

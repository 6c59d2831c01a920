// What a person does with the shop's own form, with and without JavaScript.
import assert from 'node:assert/strict'
import { build, serve, suite, tables, until } from './shop.mjs'

const program = build('./examples/shop')
const run = suite(() => serve(program, '-store', 'memory'))
const thanks = page => page.getByText('Thank you, Ada. Your order is number').waitFor()

/** Opens the shop, slow if it should be, and fills in the name. */
async function open(page, url, { slow = false, script = true } = {}) {
  await page.goto(url)
  if (slow) await turn(page, page.getByRole('button', { name: /Let each order take/ }))
  if (!script) await turn(page, page.getByRole('button', { name: 'off', exact: true }))
  await page.getByLabel('Name on the parcel').fill('Ada')
}

/** Presses a button that shows the page anew, and waits for that: until then the focus may go. */
async function turn(page, button) {
  const loaded = page.waitForEvent('load')
  await button.click()
  await loaded
}

const order = page => page.getByRole('button', { name: 'Place order' })

run('given a double click, then one request leaves and one order stands', async ({ page, url }) => {
  await open(page, url, { slow: true })
  await order(page).dblclick({ noWaitAfter: true })
  await thanks(page)
  const now = await tables(page, url)
  assert.deepEqual([now.orders.length, now.requests], [1, ['executed']])
})

run('given Enter four times, then one request leaves and one order stands', async ({ page, url }) => {
  await open(page, url, { slow: true })
  const field = page.getByLabel('Name on the parcel')
  await field.focus()
  for (let i = 0; i < 4; i++) await page.keyboard.press('Enter')
  await thanks(page)
  const now = await tables(page, url)
  assert.deepEqual([now.orders.length, now.requests], [1, ['executed']])
})

run('given a reload in flight, then the page asks, says that the order is placed, and sends nothing', async ({ page, url }) => {
  await open(page, url, { slow: true })
  const sent = page.waitForRequest(r => r.method() === 'POST' && r.url().endsWith('/orders'))
  await order(page).click({ noWaitAfter: true })
  await sent
  await page.goto(url) // what is in flight is dropped, as on a reload by hand
  assert.match(await page.locator('#state').innerText(), /being worked on at this moment|being asked|being processed/)
  await page.getByText('This form has placed its order. It stands in the order table below.').waitFor()
  await until(async () => await page.locator('#orders tbody strong').count() === 1, 'the page shows the order as this person’s')
  const now = await tables(page, url)
  assert.deepEqual([now.orders.length, now.requests], [1, ['executed']])
})

run('given an order, back, and another press, then the same order is shown', async ({ page, url }) => {
  await open(page, url)
  await order(page).click()
  await thanks(page)
  await page.goBack({ waitUntil: 'commit' })
  await order(page).click()
  await thanks(page)
  assert.equal((await tables(page, url)).orders.length, 1)
})

run('given a refusal, then the corrected form orders with the same token', async ({ page, url }) => {
  await open(page, url)
  await page.getByLabel('Name on the parcel').fill('')
  await order(page).click()
  await page.getByText('The order was not placed.').waitFor()
  await page.getByLabel('Name on the parcel').fill('Ada')
  await order(page).click()
  await thanks(page)
  const { log } = await (await page.request.get(url + '/tables')).json()
  const mine = log.filter(line => line.yours)
  assert.deepEqual(mine.map(line => line.word), ['executed', 'released'])
  assert.equal(mine[0].form, mine[1].form)
})

run('given two tabs of one cart, then one order', async ({ page, context, url }) => {
  await open(page, url)
  const other = await context.newPage()
  await open(other, url)
  await order(page).click()
  await thanks(page)
  await order(other).click()
  await thanks(other)
  const now = await tables(page, url)
  assert.deepEqual([now.orders.length, now.requests], [1, ['executed', 'replayed']])
})

for (const adapter of ['stdhttp', 'echo', 'fiber']) {
  const on = suite(() => serve(program, '-store', 'memory', '-adapter', adapter))
  on(`Statement30a given a plain form and a double click on ${adapter}, then two requests, one order, and its page`, async ({ page, url }) => {
    await open(page, url, { slow: true, script: false })
    assert.equal(await page.locator('script').count(), 0)
    await order(page).scrollIntoViewIfNeeded()
    const [x, y] = await order(page).boundingBox().then(b => [b.x + b.width / 2, b.y + b.height / 2])
    await page.mouse.click(x, y)
    await until(async () => /data-state="running"/.test(await (await page.request.get(url)).text()), 'the shop works on it')
    await page.mouse.click(x, y)
    await thanks(page)
    const now = await tables(page, url)
    assert.deepEqual([now.orders.length, now.requests.toSorted()], [1, ['executed', 'replayed']])
  })
}

run('given a browser without JavaScript, then the same page orders, and its buttons have the shop play', async ({ page, url }) => {
  await open(page, url)
  await order(page).click()
  await thanks(page)
  await page.locator('form[data-scene=changed-cart] button').click()
  await page.waitForURL('**/played/*')
  assert.match(await page.locator('#played .sum').innerText(), /One order, as it should be\./)
  assert.ok(!await page.locator('#page-only').isVisible(), 'what only a page can play is not offered')
}, { javaScriptEnabled: false })

run('given the other buttons of the page, then each does what it says', async ({ page, url }) => {
  await open(page, url)
  await order(page).click()
  await thanks(page)
  await page.goto(url)
  const form = () => page.locator('#state .hash').innerText()
  const before = await form()
  await turn(page, page.getByRole('button', { name: 'Start a new cart' }))
  assert.notEqual(await form(), before, 'another cart, another form')
  await turn(page, page.getByRole('button', { name: /Let each order take/ }))
  await turn(page, page.getByRole('button', { name: 'Make it quick again' }))
  assert.ok(await page.getByText('The shop is quick.').isVisible())
  await turn(page, page.getByRole('button', { name: 'off', exact: true }))
  assert.ok(await page.getByText('No script runs on this page.').isVisible())
  await turn(page, page.getByRole('button', { name: 'on', exact: true }))
  assert.ok(await page.getByText('This page runs idem.js').isVisible())
  assert.equal((await tables(page, url)).orders.length, 1)
  await turn(page, page.getByRole('button', { name: 'Empty the table and the log' }))
  assert.equal((await tables(page, url)).orders.length, 0)
})

for (const path of ['/', '/lab']) {
  run(`given ${path} under its policy, then nothing is violated, and the policy bites`, async ({ page, url, troubles }) => {
    await page.addInitScript(() => {
      window.violations = []
      addEventListener('securitypolicyviolation', ev => window.violations.push(ev.effectiveDirective))
    })
    const got = await page.goto(url + path)
    const policy = got.headers()['content-security-policy']
    for (const rule of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "style-src 'self'", "form-action 'self'", "require-trusted-types-for 'script'"]) {
      assert.ok(policy.split('; ').includes(rule), rule)
    }
    if (path === '/') {
      await page.locator('form[data-scene=refused] button').click()
      await page.locator('#played[data-ended]').waitFor()
    } else {
      await page.locator('#press').click()
      await page.locator('#came').waitFor()
    }
    assert.deepEqual(await page.evaluate(() => window.violations), [])
    const bitten = await page.evaluate(async () => {
      const element = document.createElement('p')
      try {
        element.innerHTML = '<b>no</b>'
      } catch {}
      element.setAttribute('style', 'color: red')
      await new Promise(done => setTimeout(done, 50))
      return window.violations
    })
    assert.deepEqual(bitten.toSorted(), ['require-trusted-types-for', 'style-src-attr'])
    troubles.length = 0 // those two were ours
  })
}

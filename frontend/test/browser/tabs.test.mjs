// Statements of FRONTEND section 5 about more than one page, form or origin: B 29, 36 and 40, and
// what several forms of one page share.
import assert from 'node:assert/strict'
import { html, suite, until } from './browser.mjs'

const run = suite()
const options = { operation: 'shop:order:create', context: 'cart:42' }

const open = async (page, s, path = '/') => {
  s.pages['/'] = html('<p id="out"></p>')
  await page.goto(s.url + path)
  await page.evaluate(options => { window.order = window.idem.createIdem(options) }, options)
}
const press = (page, cart) => page.evaluate(async cart => {
  const body = new URLSearchParams({ qty: 2, ...cart && { cart } })
  return (await window.order.fetch('/orders', { method: 'POST', body, at: performance.now() })).text()
}, cart)

run('B40 given a tab that was duplicated while its action was on its way, then the copy replays it', async ({ page, s, context }) => {
  await open(page, s)
  const release = s.hold()
  const first = press(page)
  await until(() => s.posts.length, 'the POST arrived')
  // A window that this one opens gets a copy of its sessionStorage, as a duplicated tab does.
  const [copy] = await Promise.all([context.waitForEvent('page'), page.evaluate(() => { window.open('/') })])
  await copy.waitForFunction(() => window.idem)
  const state = await copy.evaluate(options => {
    window.order = window.idem.createIdem(options)
    return window.order.state
  }, options)
  assert.equal(state, 'unknown')
  const second = press(copy)
  await until(() => s.posts.length === 2, 'the second POST arrived')
  release()
  assert.deepEqual(await Promise.all([first, second]), ['order 1', 'order 1'])
  assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1', 'T1'], 1])
  assert.equal(await press(copy), 'order 2', 'then it is a page of its own')
  assert.equal(await press(page), 'order 3')
})

run('B40 given two tabs of one cart, whose key is taken from the cart, then one run, and both show it', async ({ page, s, context }) => {
  const other = await context.newPage()
  await open(page, s)
  await open(other, s)
  s.byCart = true
  const release = s.hold()
  const presses = [press(page, '42'), press(other, '42')]
  await until(() => s.posts.length === 2, 'both POSTs arrived')
  release()
  assert.deepEqual(await Promise.all(presses), ['order 1', 'order 1'])
  assert.deepEqual(s.posts.map(p => p.status).toSorted(), ['executed', 'replayed'])
})

run('B40 given two windows that share their storage, then what one left open the other sends with the same token', async ({ page, s, context }) => {
  const other = await context.newPage()
  const shared = page => page.evaluate(options => { window.order = window.idem.createIdem({ ...options, storage: localStorage, retries: 1 }) }, options)
  await open(page, s)
  await shared(page)
  s.plan = ['503']
  assert.equal(await press(page).catch(error => String(error).match(/unknown/)[0]), 'unknown')
  await open(other, s)
  await shared(other)
  assert.equal(await press(other), 'order 1')
  assert.deepEqual(s.posts.map(p => p.token), ['T1', 'T1'])
})

for (const exposed of [true, false]) {
  run(`B36 given another origin ${exposed ? 'that exposes its headers' : 'whose headers cannot be read'}, then the same token, and one run`, async ({ page, s }) => {
    const away = s.url.replace('127.0.0.1', 'shop.test')
    Object.assign(s, { policy: '', origin: s.url, exposed, plan: ['later'] })
    await open(page, s)
    const [statuses, heard, took] = await page.evaluate(async away => {
      const order = window.idem.createIdem({ operation: 'shop:order:create', endpoint: away + '/idempotency' })
      const heard = []
      for (const name of ['waiting', 'ready', 'settle', 'replayed']) order.events.addEventListener('idem:' + name, () => heard.push(name))
      const begun = performance.now()
      const press = async () => (await order.fetch(away + '/orders', { method: 'POST', body: new URLSearchParams({ qty: 2 }) })).status
      const statuses = [await press()]
      if (statuses[0] !== 201) statuses.push(await press())
      return [statuses, heard, performance.now() - begun]
    }, away)
    // Without the verdict a 409 is an answer like another: the caller gets it, and keeps the token.
    assert.deepEqual([statuses, heard], exposed ? [[201], ['waiting', 'settle']] : [[409, 201], ['ready', 'settle']])
    if (exposed) assert.ok(took >= 2000, `Retry-After: 2 was read: ${took} ms`)
    assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1', 'T1'], 1])
  })
}

// Faults: 66.
run('B36 given another origin that allows nobody, then `issue`, and nothing is sent', async ({ page, s }) => {
  const away = s.url.replace('127.0.0.1', 'shop.test')
  s.policy = ''
  await open(page, s)
  const code = await page.evaluate(away => window.idem.createIdem({ operation: 'shop:order:create', endpoint: away + '/idempotency', deadline: 2000 })
    .fetch(away + '/orders', { method: 'POST', body: 'a=1' }).catch(error => error.code), away)
  assert.deepEqual([code, s.posts.length], ['issue', 0])
})

const list = Array.from({ length: 5 }, (_, i) => `
  <form method="post" action="/orders" id="f${i}" data-idem="shop:order:cancel" data-idem-context="order:${i}" data-idem-mode="fetch">
    <input name="qty" value="${i}"><button>Cancel ${i}</button>
  </form><input type="hidden" form="f${i}" name="idempotent-token" value="S${i}">`).join('')

// Faults: 67.
run('given five forms and the batch file, then one request for their tokens, at first and when the tab comes back to the front', async ({ page, s }) => {
  s.pages['/'] = html(list, '').replace('<script ', '<script src="/idem.batch.min.js" defer></script><script ')
  Object.assign(s, { life: 1 })
  await page.goto(s.url)
  const states = await page.evaluate(() => Promise.all([...document.forms].map(form => window.idem.enhance(form).prefetch())))
  assert.deepEqual([states, s.asked.filter(a => a === 'tokens').length], [Array(5).fill('fresh'), 1])
  await page.waitForTimeout(950) // nine tenths of their life
  assert.equal(s.asked.filter(a => a === 'tokens').length, 1, 'no timer renews them')
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
  await until(() => s.asked.filter(a => a === 'tokens').length === 2, 'they are renewed')
  await page.getByText('Cancel 3').click()
  await until(() => s.orders.length === 1, 'it is done')
  assert.match(s.posts[0].token, /^T([6-9]|\d\d+)$/, 'with a token of the second request, or newer')
})

run('given a form whose token field stands outside of it, twice, then both carry the token that goes', async ({ page, s }) => {
  s.pages['/'] = html(`<form method="post" action="/orders" id="order" data-idem="shop:order:create"><button>Order</button></form>
    <input type="hidden" form="order" name="idempotent-token" value="S1"><input type="hidden" form="order" name="idempotent-token" value="S1">`)
  await page.goto(s.url)
  const values = await page.evaluate(() => new Promise(yes => {
    document.forms[0].addEventListener('submit', ev => queueMicrotask(() => {
      if (!ev.defaultPrevented) yes([...document.querySelectorAll('[name=idempotent-token]')].map(f => [f.value, f.getAttribute('autocomplete')]))
      ev.preventDefault()
    }))
    document.querySelector('button').click()
  }))
  assert.deepEqual(values, [['T1', 'off'], ['T1', 'off']])
})

run('B29 given a guard that only looks on, then the page hears `degraded`, and nothing is sent again by itself', async ({ page, s }) => {
  s.degraded = true
  s.pages['/'] = html(`<form method="post" action="/orders" id="order" data-idem="shop:order:create" data-idem-mode="fetch">
    <input name="qty" value="2"><button>Order</button><p data-idem-status></p></form>`)
  await page.goto(s.url)
  await page.evaluate(() => { for (const n of ['degraded', 'unknown', 'settle']) addEventListener('idem:' + n, ev => { (window.heard ??= []).push(n + ' ' + ev.detail.state) }) })
  s.plan = ['503']
  await page.locator('button').click()
  await page.waitForFunction(() => window.heard?.at(-1) === 'unknown stuck')
  await page.locator('button').click() // a person may
  await page.waitForFunction(() => window.heard.at(-1) === 'settle empty')
  assert.deepEqual(s.posts.map(p => [p.token, p.status]), [['T1', 503], ['T1', 'executed']])
})

// Faults: 68.
run('C13 given a press that was made before the page had its answer about an older one, then it begins nothing', async ({ page, s }) => {
  s.pages['/'] = html(`<form method="post" action="/orders" id="order" data-idem="shop:order:create"><input name="qty" value="2"><button>Order</button></form>`)
  s.pages['/done'] = html('done')
  await page.goto(s.url)
  const release = s.hold()
  await page.locator('button').click({ noWaitAfter: true })
  await until(() => s.posts.length, 'the POST arrived')
  await page.goto(s.url) // it asks, and is told only when the run is over
  await page.evaluate(() => {
    const old = new SubmitEvent('submit', { bubbles: true, cancelable: true })
    window.dropped = new Promise(yes => addEventListener('idem:settle', () => {
      document.forms[0].dispatchEvent(old) // a click that the browser had in its queue
      setTimeout(() => yes(old.defaultPrevented), 200)
    }))
  })
  release()
  assert.deepEqual([await page.evaluate(() => window.dropped), s.posts.length, s.orders.length], [true, 1, 1])
})

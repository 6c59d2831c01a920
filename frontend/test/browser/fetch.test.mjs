// Statements of FRONTEND section 5 that need a browser, for actions sent by fetch: B 6, 23, 24, 31, 32.
import assert from 'node:assert/strict'
import { html, suite, until } from './browser.mjs'

const run = suite()
const options = { operation: 'shop:order:create', context: 'cart:42' }
const stored = page => page.evaluate(() => Object.keys(sessionStorage).filter(key => key.startsWith('idem:')))

const open = async (page, s) => {
  s.pages['/'] = html('<p id="out"></p>')
  await page.goto(s.url)
  await page.evaluate(options => { window.order = window.idem.createIdem(options) }, options)
}

run('B6 given `executed`, then one POST, and the record is gone', async ({ page, s }) => {
  await open(page, s)
  const answer = await page.evaluate(async () => {
    const res = await window.order.fetch('/orders', { method: 'POST', body: new URLSearchParams({ qty: 2 }) })
    return [res.status, await res.text(), window.order.state]
  })
  assert.deepEqual(answer, [201, 'order 1', 'empty'])
  assert.deepEqual(s.posts, [{ token: 'T1', fields: { qty: '2' }, reused: true, status: 'executed' }])
  assert.deepEqual(await stored(page), [])
})

run('B6 the core alone, as a module, does the same', async ({ page, s }) => {
  await open(page, s)
  const answer = await page.evaluate(async options => {
    const { createIdem, IdemError, ...rest } = await import('/idem.core.min.js')
    const res = await createIdem(options).fetch('/orders', { method: 'POST', body: 'a=1' })
    return [res.status, new IdemError('busy').code, Object.keys(rest)]
  }, options)
  assert.deepEqual(answer, [201, 'busy', []])
})

run('B23 given a Request with a body, then the whole body each time', async ({ page, s }) => {
  await open(page, s)
  s.plan = ['503']
  const status = await page.evaluate(async () => {
    const req = new Request('/orders', { method: 'POST', body: 'x'.repeat(1e5) })
    return (await window.order.fetch(req)).status
  })
  assert.equal(status, 201)
  assert.deepEqual(s.posts.map(p => [p.token, p.fields.body.length, p.status]), [['T1', 1e5, 503], ['T1', 1e5, 'executed']])
})

// Faults: 65.
run('B24 given a FormData with a file, then both attempts have the file', async ({ page, s }) => {
  await open(page, s)
  s.plan = ['503']
  await page.evaluate(async () => {
    const body = new FormData()
    body.set('photo', new File(['pixels'], 'a.png'))
    return (await window.order.fetch('/orders', { method: 'POST', body })).status
  })
  assert.deepEqual(s.posts.map(p => p.fields), [{ photo: 'a.png: pixels' }, { photo: 'a.png: pixels' }])
  assert.equal(s.orders.length, 1)
})

// Faults: 69.
run('B31 given a server that commits and then resets the reused connection, then the browser posts twice, it runs once, and the page shows the replay', async ({ page, s }) => {
  await open(page, s)
  s.plan = ['reset']
  const answer = await page.evaluate(async () => {
    const heard = []
    window.order.events.addEventListener('idem:replayed', () => heard.push('replayed'))
    await window.order.prefetch()
    const res = await window.order.fetch('/orders', { method: 'POST', body: new URLSearchParams({ qty: 2 }) })
    document.getElementById('out').textContent = await res.text()
    return [document.getElementById('out').textContent, ...heard]
  })
  assert.deepEqual(answer, ['order 1', 'replayed'])
  assert.ok(s.posts.length >= 2, `${s.posts.length} POSTs on the wire`)
  assert.deepEqual([...new Set(s.posts.map(p => p.token))], ['T1'])
  assert.ok(s.posts[0].reused)
  assert.equal(s.orders.length, 1)
})

run('B31 the control: the naive helper (425, new token, again) buys twice of the same server', async ({ page, s }) => {
  await open(page, s)
  s.plan = ['reset']
  const text = await page.evaluate(async () => {
    const token = async () => (await (await fetch('/naive/tokens', { method: 'POST' })).json()).token
    const buy = async () => fetch('/naive/orders', { method: 'POST', body: JSON.stringify({ token: await token() }) })
    let res = await buy()
    if (res.status === 425) res = await buy() // "the token has expired"
    return res.text()
  })
  assert.equal(text, 'order 2')
  assert.equal(s.orders.length, 2)
  assert.ok(s.posts.length >= 3)
})

run('B32 given a reload while it is in flight, then ask() settles it: one token, one run', async ({ page, s }) => {
  await open(page, s)
  const release = s.hold()
  await page.evaluate(() => {
    window.order.fetch('/orders', { method: 'POST', body: 'a=1' }).catch(() => sessionStorage.setItem('caught', 1))
  })
  await until(() => s.posts.length, 'the POST arrived')
  await page.reload()
  const before = await page.evaluate(options => {
    window.order = window.idem.createIdem(options)
    return [window.order.state, window.order.pending() > 0, JSON.parse(sessionStorage[Object.keys(sessionStorage).find(k => k.startsWith('idem:'))]).token]
  }, options)
  assert.deepEqual(before, ['unknown', true, 'T1'])
  release()
  assert.equal(await page.evaluate(() => window.order.ask()), 'empty')
  assert.deepEqual([s.posts.length, s.orders.length], [1, 1])
  assert.deepEqual(await stored(page), [])
  const again = await page.evaluate(async () => (await window.order.fetch('/orders', { method: 'POST', body: 'a=1' })).text())
  assert.equal(again, 'order 2', 'a new action is a new action')
})

run('B32 given a reload and a second press instead, then it is the same token and the replay', async ({ page, s }) => {
  await open(page, s)
  const release = s.hold()
  await page.evaluate(() => { window.order.fetch('/orders', { method: 'POST', body: 'a=1' }).catch(() => {}) })
  await until(() => s.posts.length, 'the POST arrived')
  await page.reload()
  const text = page.evaluate(async options => {
    const order = window.idem.createIdem(options)
    return (await order.fetch('/orders', { method: 'POST', body: 'a=1' })).text()
  }, options)
  await until(() => s.posts.length === 2, 'the second POST arrived')
  release()
  assert.equal(await text, 'order 1')
  assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1', 'T1'], 1])
})

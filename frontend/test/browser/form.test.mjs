// Statements of FRONTEND section 5 that need a browser, for forms: B 32 to 35, 37, 38 and 45, in
// native mode, where the browser itself posts, and by fetch.
import assert from 'node:assert/strict'
import { html, suite, until } from './browser.mjs'

const run = suite()

/** The order form as a server renders it, with a token of its own for pages without JavaScript. */
const form = (more = '', token = 'S1') => `
  <form method="post" action="/orders" id="order" data-idem="shop:order:create" data-idem-context="cart:42" ${more}>
    <input type="hidden" name="idempotent-token" value="${token}" autocomplete="off">
    <input name="qty" value="2">
    <button name="kind" value="gift">Order as a gift</button>
  </form>`
const busy = page => page.evaluate(() => [document.forms[0].getAttribute('aria-busy'), document.querySelector('button').disabled])
const stored = page => page.evaluate(() => Object.keys(sessionStorage).filter(key => key.startsWith('idem:')).length)

const open = async (page, s, more) => {
  s.pages['/'] = html(form(more) + '<a href="/other">away</a>')
  s.pages['/done'] = html('<h1>Thank you</h1><a href="/">back to the shop</a>')
  s.pages['/other'] = html('another page')
  await page.goto(s.url)
}

for (const [mode, more] of [['native', ''], ['fetch', 'data-idem-mode="fetch"']]) {
  run(`B33 given three clicks 150 ms apart (${mode}), then one POST with the submitter's name and value`, async ({ page, s }) => {
    await open(page, s, more)
    const release = s.hold()
    s.next = '/done'
    await page.evaluate(() => new MutationObserver(() => { // the page itself is gone when one could look
      sessionStorage.seen = [document.forms[0].getAttribute('aria-busy'), document.querySelector('button').disabled]
    }).observe(document.forms[0], { attributes: true, subtree: true }))
    const button = await page.locator('button').boundingBox()
    const at = [button.x + 5, button.y + 5]
    for (let i = 0; i < 3; i++) {
      await page.mouse.click(...at)
      await page.waitForTimeout(150)
    }
    release()
    await page.waitForURL('**/done')
    assert.deepEqual(s.posts.map(p => [p.token, p.fields]), [['T1', { qty: '2', kind: 'gift' }]])
    assert.equal(s.orders.length, 1)
    if (mode === 'native') assert.equal(await page.evaluate(() => sessionStorage.seen), 'true,true', 'busy, and the button disabled')
  })

  run(`B33 given Enter four times (${mode}), then one POST`, async ({ page, s }) => {
    await open(page, s, more)
    const release = s.hold()
    s.next = '/done'
    await page.locator('[name=qty]').focus()
    for (let i = 0; i < 4; i++) await page.keyboard.press('Enter')
    release()
    await page.waitForURL('**/done')
    assert.deepEqual(s.posts.map(p => [p.token, p.fields]), [['T1', { qty: '2', kind: 'gift' }]])
  })

  run(`B32 given a reload while it is in flight (${mode}), then the page asks and settles it`, async ({ page, s }) => {
    await open(page, s, more)
    const release = s.hold()
    await page.locator('button').click({ noWaitAfter: true })
    await until(() => s.posts.length, 'the POST arrived')
    await page.goto(s.url)
    release()
    await until(async () => s.orders.length && await stored(page) === 0, 'it is settled')
    assert.ok(s.asked.includes('status'))
    assert.deepEqual([s.posts.length, s.orders.length], [1, 1])
  })

  run(`B32 given a second press on the reloaded page (${mode}), then it is the same token, and one run`, async ({ page, s }) => {
    await open(page, s, more)
    const release = s.hold()
    s.next = '/done'
    await page.locator('button').click({ noWaitAfter: true })
    await until(() => s.posts.length, 'the POST arrived')
    await page.goto(s.url)
    await page.locator('button').click({ noWaitAfter: true })
    await until(() => s.posts.length === 2, 'the second POST arrived')
    release()
    await page.waitForURL('**/done')
    assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1', 'T1'], 1])
  })
}

// Faults: 62, 64.
run('B33 given no token in time, then the click waits for one and goes once', async ({ page, s }) => {
  await open(page, s)
  s.next = '/done'
  let answer
  await page.route('**/tokens', async route => {
    await new Promise(yes => { answer = yes })
    await route.continue()
  })
  await page.locator('button').click({ noWaitAfter: true })
  await until(() => answer, 'a token was asked for')
  await page.evaluate(() => document.forms[0].requestSubmit())
  assert.deepEqual(await busy(page), ['true', true])
  assert.equal(s.posts.length, 0)
  answer()
  await page.waitForURL('**/done')
  assert.deepEqual(s.posts.map(p => [p.token, p.fields.kind]), [['T1', 'gift']])
})

run('B33 given a page whose own listener keeps the form, then it is free again, and nothing is lost', async ({ page, s }) => {
  await open(page, s)
  await page.locator('[name=qty]').focus()
  await page.evaluate(() => document.forms[0].addEventListener('submit', ev => ev.preventDefault(), { once: true }))
  await until(() => s.asked.includes('tokens'), 'a token was asked for')
  await page.locator('button').click()
  await until(async () => (await busy(page))[0] === 'false', 'the form is free')
  assert.deepEqual([await busy(page), s.posts.length], [['false', false], 0])
  await page.locator('button').click()
  await page.waitForURL('**/orders')
  assert.deepEqual(s.posts.map(p => p.token), ['T1'])
})

run('B34 given back with bfcache after it was done, then the spent token is replaced', async ({ page, s }) => {
  await open(page, s)
  s.next = '/done'
  await page.evaluate(() => addEventListener('pageshow', ev => { window.shown = ev.persisted }))
  await page.locator('button').click()
  await page.waitForURL('**/done')
  await page.goBack({ waitUntil: 'commit' })
  await page.waitForFunction(() => window.shown !== undefined)
  assert.equal(await page.evaluate(() => window.shown), true, 'the page came from the bfcache')
  await until(async () => await stored(page) === 0, 'it is settled')
  assert.deepEqual(await busy(page), ['false', false])
  await page.locator('button').click()
  await page.waitForURL('**/done')
  assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1', 'T2'], 2])
})

// Faults: 61, 63.
run('B34 given back with bfcache after a refusal, then the token is kept, and another body goes with it', async ({ page, s }) => {
  await open(page, s)
  Object.assign(s, { plan: ['422'], next: '/done' })
  await page.evaluate(() => addEventListener('pageshow', ev => { window.shown = ev.persisted }))
  await page.locator('button').click()
  await page.waitForURL('**/orders')
  await page.goBack({ waitUntil: 'commit' })
  await page.waitForFunction(() => window.shown !== undefined)
  assert.equal(await page.evaluate(() => window.shown), true, 'the page came from the bfcache')
  await page.locator('[name=qty]').fill('3')
  await page.locator('button').click()
  await page.waitForURL('**/done')
  assert.deepEqual(s.posts.map(p => [p.token, p.fields.qty, p.status]), [['T1', '2', 'released'], ['T1', '3', 'executed']])
})

run('B35 given back without bfcache and an old hidden value, then it is corrected before the form goes', async ({ page, s }) => {
  s.cache = 'max-age=600' // the page itself comes back from the cache, with what it had
  await open(page, s)
  s.next = '/done'
  await page.evaluate(() => addEventListener('unload', () => {})) // keeps it out of the bfcache
  await page.locator('button').click()
  await page.waitForURL('**/done')
  await page.goBack()
  await page.evaluate(() => { document.querySelector('[name=idempotent-token]').value = 'T1' })
  await until(async () => await stored(page) === 0, 'it is settled')
  await page.locator('button').click()
  await page.waitForURL('**/done')
  assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1', 'T2'], 2])
})

run('B37 given a browser that is offline at the press, then online, then one run', async ({ page, s, context }) => {
  await open(page, s, 'data-idem-mode="fetch"')
  const state = () => page.evaluate(() => window.end ?? window.idem.enhance(document.forms[0]).state)
  await page.evaluate(() => {
    for (const name of ['replayed', 'settle']) addEventListener('idem:' + name, () => { window.end = name })
    return window.idem.enhance(document.forms[0]).prefetch()
  })
  await context.setOffline(true)
  await page.locator('button').click()
  await until(async () => await state() === 'unknown', 'an attempt failed')
  await context.setOffline(false)
  await until(async () => {
    const now = await state()
    if (now === 'stuck') await page.locator('button').click() // its four attempts were over: the person presses again
    return now === 'settle' || now === 'replayed'
  }, 'it is done')
  assert.deepEqual([s.orders.length, new Set(s.posts.map(p => p.token))], [1, new Set(['T1'])])
})

run('B37 given an insecure origin, then it works the same', async ({ page, s }) => {
  await open(page, s)
  await page.goto(s.url.replace('127.0.0.1', 'shop.test'))
  assert.deepEqual(await page.evaluate(() => [isSecureContext, typeof crypto.randomUUID]), [false, 'undefined'])
  s.next = '/done'
  await page.locator('button').dblclick({ noWaitAfter: true })
  await page.waitForURL('**/done')
  assert.deepEqual(s.posts.map(p => [p.token, p.status]), [['T1', 'executed']])
})

run('B38 given a script that does not load, then the form goes with the token of the server', async ({ page, s, troubles }) => {
  s.pages['/'] = html(form()).replace('<script ', '<script integrity="sha384-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" ')
  await page.goto(s.url)
  assert.equal(await page.evaluate(() => typeof window.idem), 'undefined')
  await page.locator('button').click()
  await page.waitForURL('**/orders')
  assert.deepEqual(s.posts.map(p => [p.token, p.status]), [['S1', 'executed']])
  troubles.length = 0
})

run('B38 given a token endpoint that says no, then the form goes with the token of the server', async ({ page, s }) => {
  await open(page, s)
  await page.route('**/tokens', route => route.fulfill({ status: 403 }))
  await page.locator('button').click()
  await page.waitForURL('**/orders')
  assert.deepEqual(s.posts.map(p => [p.token, p.status]), [['S1', 'executed']])
})

run('B38 given no token at all, then the form does not go, the page hears why, and it is free again', async ({ page, s }) => {
  await open(page, s)
  s.pages['/'] = html(form().replace(/<input type="hidden".*>/, ''))
  await page.goto(s.url)
  await page.route('**/tokens', route => route.fulfill({ status: 403 }))
  await page.evaluate(() => addEventListener('idem:issue', ev => { window.heard = ev.target.id }))
  await page.locator('button').click()
  await page.waitForFunction(() => window.heard === 'order')
  await until(async () => (await busy(page))[0] === 'false', 'the form is free')
  assert.equal(s.posts.length, 0)
})

run('B45 given a form without JavaScript of its own, then post, redirect, and the next page settles it by asking', async ({ page, s }) => {
  await open(page, s)
  s.next = '/'
  const order = async () => { // until the next page is there: a browser does not close one that is on its way
    const shown = page.waitForEvent('load')
    await page.locator('button').click()
    await shown
  }
  await order()
  await until(() => s.asked.includes('status'), 'the next page asked')
  await until(async () => await stored(page) === 0, 'it is settled')
  assert.deepEqual([s.posts.length, s.orders.length], [1, 1])
  await order()
  assert.equal(s.orders.length, 2)
  assert.deepEqual(s.posts.map(p => p.token), ['T1', 'T2'])
})

run('B45 given a form that comes later, then it is guarded too', async ({ page, s }) => {
  await open(page, s)
  s.next = '/done'
  await page.evaluate(() => {
    const old = document.forms[0]
    const copy = old.cloneNode(true)
    copy.id = 'later'
    old.replaceWith(copy)
  })
  await page.locator('button').click()
  await page.waitForURL('**/done')
  assert.deepEqual(s.posts.map(p => p.token), ['T1'])
})

run('B45 given a context that changes while the page is open, then the token is of the new one', async ({ page, s }) => {
  await open(page, s)
  const asked = []
  page.on('request', r => r.url().endsWith('/tokens') && asked.push(r.postDataJSON()))
  await page.locator('[name=qty]').focus()
  await until(() => asked.length, 'a token was asked for')
  await page.evaluate(() => { document.forms[0].dataset.idemContext = 'cart:43' })
  await page.keyboard.press('Enter')
  await page.waitForURL('**/orders')
  assert.deepEqual(asked.map(a => a.context), ['cart:42', 'cart:43'])
  assert.deepEqual(s.posts.map(p => p.token), ['T2'])
})

// How a token is come by: FRONTEND section 5, statements 1 to 5, 27, 28 and 48.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { IdemError } from './subject.mjs'
import { lost, said, silence, start, world } from './world.mjs'

test('N1 given five prefetches at once, then one token is asked for', async () => {
  const w = world()
  await w.end(Promise.all([1, 2, 3, 4, 5].map(() => w.order.prefetch())))
  assert.deepEqual(w.issued, [{ at: start, operation: 'shop:order:create', context: 'cart:42' }])
  assert.equal(w.order.state, 'fresh')
  assert.deepEqual(w.record(), undefined, 'a token that was not sent is not written down')
})

// Faults: 67.
test('N2 given a fresh token past 90 % of its life, when it is to be sent, then a new one is fetched', async () => {
  for (const [age, tokens] of [[809e3, ['T1']], [811e3, ['T2']]]) {
    const w = world()
    w.answers = [said('executed', 201)]
    await w.end(w.order.prefetch())
    w.now += age
    assert.equal((await w.end(w.post())).value.status, 201)
    assert.deepEqual(w.sent.map(s => s.token), tokens, `after ${age} ms`)
  }
})

test('N3 given a clock that went backwards, then the token counts as expired', async () => {
  const w = world()
  w.answers = [said('executed', 201)]
  await w.end(w.order.prefetch())
  w.now -= 5000
  await w.end(w.post())
  assert.deepEqual(w.sent.map(s => s.token), ['T2'])
})

test('N4 given a token endpoint that says 500, then 200, then the action waits for it and is sent once', async () => {
  const w = world()
  w.tokens = [() => new Response('', { status: 500 })]
  w.answers = [said('executed', 201)]
  assert.equal((await w.end(w.post())).value.status, 201)
  assert.equal(w.issued.length, 2)
  assert.ok(w.issued[1].at - w.issued[0].at >= 250, 'it backed off')
  assert.deepEqual(w.sent.map(s => s.token), ['T2'])
  assert.deepEqual(w.events, ['tokens', 'fetching', 'tokens', 'fresh', 'send', 'settle'])
})

test('N4 given a token endpoint that cannot be reached, is not JSON, or has no token or one that is over when it comes, then `issue` after four tries or one', async () => {
  for (const [answer, tries] of [[lost, 4], [() => new Response('<html>'), 4], [() => Response.json({}), 1], [() => Response.json({ token: 'T', expiresIn: 0, retain: 9 }), 1], [silence, 1]]) {
    const w = world()
    w.tokens = [answer, answer, answer, answer, answer]
    const { error } = await w.end(w.post())
    assert.ok(error instanceof IdemError)
    assert.equal(error.code, 'issue')
    assert.ok(w.issued.length <= 4 && w.issued.length >= tries, `${w.issued.length} tries`)
    assert.equal(w.sent.length, 0)
    assert.equal(w.order.state, 'empty')
  }
})

test('N5 given a token endpoint that says 403, then `issue` with its answer, and the action is never sent', async () => {
  const w = world()
  w.tokens = [() => new Response('no', { status: 403 })]
  const { error } = await w.end(w.post())
  assert.equal(error.code, 'issue')
  assert.equal(error.response.status, 403)
  assert.deepEqual([w.issued.length, w.sent.length, w.order.pending()], [1, 0, undefined])
})

test('N5 given a prefetch that fails, then it is told by an event and not by an error, and a press tries again', async () => {
  const w = world()
  w.tokens = [() => new Response('', { status: 503 })]
  w.answers = [said('executed', 201)]
  assert.deepEqual(await w.end(w.order.prefetch()), { value: 'empty' })
  assert.deepEqual(w.events, ['tokens', 'issue'])
  assert.equal((await w.end(w.post())).value.status, 201)
})

test('N27 given a fresh token, when the context changes, then the action of the new context takes a token of its own', async () => {
  const w = world()
  w.answers = [said('executed', 201)]
  await w.end(w.order.prefetch())
  w.order.setContext('cart:43')
  assert.equal(w.order.state, 'empty')
  await w.end(w.post())
  assert.deepEqual(w.issued.map(i => i.context), ['cart:42', 'cart:43'])
  assert.deepEqual(w.sent.map(s => s.token), ['T2'])
})

test('N27 given an action in flight, when the context changes, then it goes on to its end in its own', async () => {
  const w = world()
  let answer
  w.answers = [() => new Promise(yes => { answer = yes }), said('in-flight', 409, { 'Retry-After': '1' }), said('replayed', 201)]
  const first = w.post()
  await w.pass(10)
  w.order.setContext('cart:43')
  assert.deepEqual([w.order.state, w.order.pending()], ['empty', undefined])
  answer(said(null, 503)())
  assert.equal((await w.end(first)).value.status, 201)
  assert.deepEqual(w.sent.map(s => s.token), ['T1', 'T1', 'T1'])
  assert.deepEqual(w.issued.map(i => i.context), ['cart:42'])
  w.order.setContext('cart:42')
  assert.equal(w.order.state, 'empty', 'it settled meanwhile')
})

test('N28 given a storage that throws, then the page itself remembers', async () => {
  const thrower = new Proxy({}, {
    get() { throw new DOMException('denied', 'SecurityError') },
    set() { throw new DOMException('full', 'QuotaExceededError') }
  })
  for (const storage of [thrower, undefined]) { // undefined: there is no sessionStorage here
    const w = world({ storage })
    w.answers = [lost, lost, lost, lost, said('replayed', 201)]
    assert.equal((await w.end(w.post())).error.code, 'unknown')
    assert.equal(w.order.pending(), w.sent[0].at)
    assert.equal((await w.end(w.post())).value.status, 201)
    assert.deepEqual(new Set(w.sent.map(s => s.token)), new Set(['T1']))
    assert.equal(w.order.state, 'empty')
  }
})

test('N48 given a pending action of one login, then another login does not find it, and no name is written down', async () => {
  const w = world({ user: 'alice@example.org' })
  w.answers = [lost]
  await w.end(w.post())
  const text = JSON.stringify(w.storage)
  assert.ok(text.includes('T1') && !text.includes('alice'), text)
  assert.deepEqual([w.make().state, w.make({ user: 'mallory@example.org' }).state, w.make({ user: '' }).state], ['unknown', 'empty', 'empty'])
  assert.equal(w.make({ context: 'cart:43' }).state, 'empty')
})

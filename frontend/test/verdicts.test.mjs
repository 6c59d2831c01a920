// What each answer leads to: FRONTEND section 5, statements 6 to 18, 22, 29, 41 to 44 and 46.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { IdemError } from './subject.mjs'
import { lost, redirected, said, silence, start, world } from './world.mjs'

/** Sends once with these answers: the world, and how it ended. */
const play = async (answers, options, body, init) => {
  const w = world(options)
  w.answers = answers
  return { w, ...await w.end(w.post(body, init)) }
}
const tokens = w => w.sent.map(s => s.token)

test('N6 given `executed`, then one POST, the answer, and the record is gone', async () => {
  for (const status of [200, 201, 204, 402, 500]) {
    const { w, value } = await play([said('executed', status)])
    assert.equal(value.status, status)
    assert.deepEqual([w.sent.length, w.order.state, w.order.pending(), w.storage], [1, 'empty', undefined, {}])
    assert.deepEqual(w.events, ['tokens', 'fresh', 'send', 'settle'])
  }
})

test('N6 given a plain 2xx of an unguarded route, then it settles too', async () => {
  for (const answer of [said(null, 200), said('unguarded', 200), said('unguarded', 500)]) {
    const { w, value } = await play([answer])
    assert.ok(value)
    assert.deepEqual([w.sent.length, w.order.state, w.storage], [1, 'empty', {}])
  }
})

test('N7 given `in-flight` with Retry-After: 2, then the same token at least 2 s later', async () => {
  const { w, value } = await play([said('in-flight', 409, { 'Retry-After': '2' }), said('replayed', 201)])
  assert.equal(value.status, 201)
  assert.deepEqual(tokens(w), ['T1', 'T1'])
  const gap = w.sent[1].at - w.sent[0].at
  assert.ok(gap >= 2000 && gap < 3000, `${gap} ms`)
  assert.deepEqual(w.events, ['tokens', 'fresh', 'send', 'waiting', 'retry', 'replayed'])
})

test('N8 given a Retry-After of any kind, then it is honoured, ignored or capped', async () => {
  const jitter = 503 // random 0.999…, so soon after the press
  for (const [text, least, most] of [
    [new Date(start + 10e3).toUTCString(), 8999, 10e3 + jitter], // to the second
    ['soon', 0, jitter], ['', 0, jitter], [undefined, 0, jitter],
    ['-5', 0, jitter], ['0', 0, jitter], [new Date(0).toUTCString(), 0, jitter],
    ['315360000', 30e3, 30e3 + jitter], ['1.5', 1500, 1500 + jitter]
  ]) {
    for (const rnd of [0, 0.999]) {
      const w = world()
      w.rnd = rnd
      w.answers = [said('in-flight', 409, text === undefined ? {} : { 'Retry-After': text }), said('replayed', 201)]
      await w.end(w.post())
      const gap = w.sent[1].at - w.sent[0].at
      assert.ok(gap >= least && gap <= most, `Retry-After: ${text} with random ${rnd} gave ${gap} ms`)
    }
  }
})

test('N9 given `replayed`, then the caller gets the kept answer, and the event says so', async () => {
  const { w, value } = await play([said('replayed', 201, { 'Idempotent-Replayed': 'true' }, 'order 7')])
  assert.equal(await value.text(), 'order 7')
  assert.equal(w.events.at(-1), 'replayed')
  assert.deepEqual(w.storage, {})
})

test('N10 given `used`, then an IdemError with the answer, no resend and no new token', async () => {
  const { w, error } = await play([said('used', 409, { Location: '/orders/7' })])
  assert.ok(error instanceof IdemError)
  assert.equal(error.code, 'used')
  assert.equal(error.response.headers.get('Location'), '/orders/7')
  assert.deepEqual([w.sent.length, w.issued.length, w.order.state, w.storage], [1, 1, 'empty', {}])
})

test('N11 given `dead` at first, then exactly one new token, with the same body', async () => {
  const { w, value } = await play([said('dead', 425), said('executed', 201)])
  assert.equal(value.status, 201)
  assert.deepEqual(w.sent.map(s => [s.token, s.body]), [['T1', 'a=1'], ['T2', 'a=1']])
  assert.deepEqual(w.issued.map(i => i.context), ['cart:42', 'cart:42'])
  assert.deepEqual(w.events, ['tokens', 'fresh', 'send', 'swap', 'fresh', 'send', 'settle'])
})

test('N11 given `dead` after `unavailable`, which ran nothing, then a new token all the same', async () => {
  const { w, value } = await play([said('unavailable', 503, { 'Retry-After': '1' }), said('dead', 425), said('executed', 201)])
  assert.equal(value.status, 201)
  assert.deepEqual(tokens(w), ['T1', 'T1', 'T2'])
})

test('N11 given `dead` and no new token to be had, then `issue`, and the slot is empty', async () => {
  const w = world()
  w.answers = [said('dead', 425)]
  await w.end(w.order.prefetch())
  w.tokens = [() => new Response('', { status: 403 })]
  assert.equal((await w.end(w.post())).error.code, 'issue')
  assert.deepEqual([w.order.state, w.storage], ['empty', {}])
})

test('N12 given `dead` after an attempt without an answer, then `unknown` and no new token', async () => {
  for (const first of [lost, silence, said(null, 502), said(null, 425)]) {
    const { w, error } = await play([first, said('dead', 425)])
    assert.equal(error.code, 'unknown')
    assert.deepEqual([tokens(w), w.issued.length, w.order.state], [['T1', 'T1'], 1, 'stuck'])
    assert.equal(w.record().token, 'T1')
  }
})

test('N13 given `dead` twice, then one new token and `rejected`', async () => {
  const { w, error } = await play([said('dead', 425)])
  assert.equal(error.code, 'rejected')
  assert.deepEqual([tokens(w), w.order.state, w.storage], [['T1', 'T2'], 'rejected', {}])
  assert.equal((await w.end(w.post())).error.code, 'rejected', 'the page must be shown anew')
  assert.equal(w.sent.length, 2)
  assert.equal(await w.order.abandon(), 'empty')
  assert.equal(w.asked.length, 0)
})

test('N14 given `missing` though a token was sent, then `rejected`, and the same token is kept', async () => {
  const { w, error } = await play([said('missing', 400), said('executed', 201)])
  assert.equal(error.code, 'rejected')
  assert.deepEqual([w.order.state, w.issued.length], ['ready', 1])
  assert.equal((await w.end(w.post())).value.status, 201)
  assert.deepEqual(tokens(w), ['T1', 'T1'])
})

test('N15 given a plain 425, then the same token', async () => {
  const { w, value } = await play([said(null, 425), said('executed', 201)])
  assert.equal(value.status, 201)
  assert.deepEqual([tokens(w), w.issued.length], [['T1', 'T1'], 1])
})

// Faults: 63.
test('N16 N43 given a refusal, then it rejects at once, or is stuck after an unknown attempt', async () => {
  for (const [verdict, status] of [['conflict', 422], ['foreign', 403], ['forgotten', 410], ['malformed', 400]]) {
    let { w, error } = await play([said(verdict, status)])
    assert.equal(error.code, verdict)
    assert.equal(error.response.status, status)
    assert.deepEqual([w.sent.length, w.order.state, w.storage], [1, 'rejected', {}]);
    ({ w, error } = await play([lost, said(verdict, status)]))
    assert.equal(error.code, 'unknown')
    assert.equal(error.response.headers.get('Idempotency-Status'), verdict)
    assert.deepEqual([tokens(w), w.order.state, w.record().token], [['T1', 'T1'], 'stuck', 'T1'])
  }
})

// Faults: 61.
test('N17 given a `released` 422, then the caller gets it, and another body goes with the same token', async () => {
  const { w, value } = await play([said('released', 422), said('executed', 201)])
  assert.deepEqual([value.status, w.order.state, w.record().token], [422, 'ready', 'T1'])
  assert.equal((await w.end(w.post('a=2'))).value.status, 201)
  assert.deepEqual(w.sent.map(s => [s.token, s.body]), [['T1', 'a=1'], ['T1', 'a=2']])
  assert.deepEqual(w.storage, {})
})

test('N18 N19 given errors, then the same token, four times at most, with full jitter', async () => {
  for (const rnd of [0, 0.5, 0.999999]) {
    const w = world()
    w.rnd = rnd
    w.answers = [lost]
    const { error } = await w.end(w.post())
    assert.equal(error.code, 'unknown')
    assert.ok(error.cause instanceof TypeError)
    assert.deepEqual(tokens(w), ['T1', 'T1', 'T1', 'T1'])
    w.sent.reduce((a, b) => {
      const most = a.at - start + 501 // as long again as has gone by, and half a second
      assert.ok(b.at - a.at >= 1 && b.at - a.at <= most + 1, `${b.at - a.at} ms of ${most}`)
      return b
    })
    assert.equal(w.order.state, 'stuck')
  }
})

// Faults: 69.
test('N18 given answers of the kind that say nothing, then the same token', async () => {
  const opaque = () => Object.defineProperty(new Response(), 'status', { value: 0 })
  for (const answer of [said(null, 408), said(null, 429), said(null, 500), said(null, 503), said(null, 599), opaque]) {
    const { w, value } = await play([answer, said('replayed', 201)])
    assert.equal(value.status, 201)
    assert.deepEqual(tokens(w), ['T1', 'T1'])
  }
})

test('N22 given a stream, when the connection breaks, then it is not sent again', async () => {
  const stream = () => new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('a=1')); c.close() } })
  let { w, error } = await play([lost], { stream: true }, stream(), { duplex: 'half' })
  assert.equal(error.code, 'unknown')
  assert.deepEqual([w.sent.length, w.order.state], [1, 'stuck']);
  ({ w, error } = await play([said('dead', 425)], { stream: true }, stream(), { duplex: 'half' }))
  assert.deepEqual([error.code, w.sent.length, w.order.state], ['rejected', 1, 'rejected'])
  const { value } = await play([said('executed', 201)], { stream: true }, stream(), { duplex: 'half' })
  assert.equal(value.status, 201)
})

test('N29 given a degraded token, then nothing is sent again by itself', async () => {
  for (const answer of [lost, said(null, 503), said('in-flight', 409), said('unavailable', 503)]) {
    const w = world()
    w.tokens = [() => Response.json({ token: 'D', expiresIn: 900, retain: 86400, degraded: true })]
    w.answers = [answer]
    assert.equal((await w.end(w.post())).error.code, 'unknown')
    assert.deepEqual([tokens(w), w.order.state], [['D'], 'stuck'])
    assert.equal(w.events[1], 'degraded')
    w.answers = [said('executed', 201)]
    assert.equal((await w.end(w.post())).value.status, 201, 'a person may press again')
    assert.deepEqual(tokens(w), ['D', 'D'])
  }
})

test('N29 given `unprotected`, then it is over, whatever its status', async () => {
  for (const status of [200, 409, 503]) {
    const { w, value } = await play([said('unprotected', status)])
    assert.equal(value.status, status)
    assert.deepEqual([w.sent.length, w.order.state, w.storage], [1, 'empty', {}])
  }
})

test('N41 given `dead` later than the deadline, then `unknown` and no new token', async () => {
  for (const passed of [61e3, -1]) { // a laptop that slept; a clock that was put back
    const w = world()
    w.answers = [() => {
      w.now += passed
      return said('dead', 425)()
    }]
    assert.equal((await w.end(w.post())).error.code, 'unknown')
    assert.deepEqual([tokens(w), w.issued.length, w.order.state], [['T1'], 1, 'stuck'])
  }
})

test('N42 given `unavailable` with Retry-After, then the same token after it', async () => {
  const { w, value } = await play([said('unavailable', 503, { 'Retry-After': '3' }), said('executed', 201)])
  assert.equal(value.status, 201)
  assert.deepEqual(tokens(w), ['T1', 'T1'])
  assert.ok(w.sent[1].at - w.sent[0].at >= 3000)
})

test('N44 given `uncertain` until the deadline, then stuck, far more than four times asked', async () => {
  const { w, error } = await play([said('uncertain', 409, { 'Retry-After': '2' })])
  assert.equal(error.code, 'unknown')
  assert.equal(error.response.headers.get('Idempotency-Status'), 'uncertain')
  assert.equal(w.order.state, 'stuck')
  assert.ok(w.sent.length > 4, `${w.sent.length} times`)
  assert.ok(w.now - start <= 60e3)
  assert.deepEqual(new Set(tokens(w)), new Set(['T1']))
})

test('N46 given an answer without a verdict from before the guard, then the next press sends the same token', async () => {
  for (const answer of [said(null, 401), said(null, 403), said(null, 404), redirected(null, 200), redirected('unguarded', 200)]) {
    const { w, value } = await play([answer, said('executed', 201)])
    assert.ok(value.status < 500)
    assert.deepEqual([w.order.state, w.record().token, w.events.at(-1)], ['ready', 'T1', 'ready'])
    w.now += 1200e3 // it took a while to sign in, and the token's life is over
    assert.equal((await w.end(w.post())).value.status, 201)
    assert.deepEqual(tokens(w), ['T1', 'T1'])
  }
})

// What a person, a page and other code do meanwhile: FRONTEND section 5, statements 20, 21, 23 to
// 26, 32 and 47, and what the interface promises besides.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { lost, said, silence, start, world } from './world.mjs'

const tokens = w => w.sent.map(s => s.token)
const state = (name, verdict) => () => Response.json({ state: name, ...(verdict && { verdict }) })

test('N20 given an abort while it waits, then AbortError at once, and the record is kept', async () => {
  const w = world()
  const ctl = new AbortController()
  w.answers = [said('in-flight', 409, { 'Retry-After': '20' }), said('replayed', 201)]
  const press = w.post('a=1', { signal: ctl.signal })
  await w.pass(1000)
  assert.equal(w.order.state, 'waiting')
  ctl.abort()
  const { error } = await w.end(press)
  assert.equal(error.name, 'AbortError')
  assert.equal(w.now, start + 1000)
  assert.deepEqual([w.order.state, w.record().token], ['unknown', 'T1'])
  assert.equal((await w.end(w.post())).value.status, 201)
  assert.deepEqual(tokens(w), ['T1', 'T1'])
})

test('N21 given an abort in flight, then the reason, and the record is kept', async () => {
  for (const reason of [undefined, new Error('no longer wanted')]) {
    const w = world()
    const ctl = new AbortController()
    w.answers = [silence]
    const press = w.post('a=1', { signal: ctl.signal })
    await w.pass(10)
    ctl.abort(reason)
    const { error } = await w.end(press)
    reason ? assert.equal(error, reason) : assert.equal(error.name, 'AbortError')
    assert.equal(w.sent[0].req.signal.aborted, true, 'the request itself ends')
    assert.deepEqual([w.order.state, w.record().token], ['unknown', 'T1'])
  }
})

test('N21 given an abort before anything was sent, then nothing is sent and nothing is pending', async () => {
  const w = world()
  const ctl = new AbortController()
  w.answers = [said('executed', 201)]
  const press = w.post('a=1', { signal: ctl.signal })
  ctl.abort() // while it waits for its token
  assert.equal((await w.end(press)).error.name, 'AbortError')
  assert.equal((await w.end(w.post('a=1', { signal: ctl.signal }))).error.name, 'AbortError')
  assert.deepEqual([w.sent.length, w.order.state, w.order.pending()], [0, 'fresh', undefined])
})

test('N23 given a Request with a body, then the whole body each time', async () => {
  const w = world()
  w.answers = [lost, said(null, 502), said('executed', 201)]
  const req = new Request('http://shop.test/orders', { method: 'PATCH', body: 'x'.repeat(1e5), headers: { 'X-Mine': '1' } })
  assert.equal((await w.end(w.order.fetch(req))).value.status, 201)
  assert.deepEqual(w.sent.map(s => [s.req.method, s.body.length, s.req.headers.get('X-Mine')]), Array(3).fill(['PATCH', 1e5, '1']))
})

// Faults: 65.
test('N24 given a FormData with a file, then both attempts have the file', async () => {
  const w = world()
  const files = []
  const look = answer => async req => {
    files.push(await (await req.formData()).get('photo').text())
    return answer()
  }
  w.answers = [look(said(null, 503)), look(said('executed', 201))]
  const body = new FormData()
  body.set('photo', new File(['\u0000\u00ff pixels'], 'a.png', { type: 'image/png' }))
  assert.equal((await w.end(w.post(body))).value.status, 201)
  assert.deepEqual(files, ['\u0000\u00ff pixels', '\u0000\u00ff pixels'])
})

test('N24 given a request without a body, then it is sent as it is', async () => {
  const w = world()
  w.answers = [said('executed', 204)]
  assert.equal((await w.end(w.order.fetch('http://shop.test/orders/7', { method: 'DELETE' }))).value.status, 204)
  assert.deepEqual([w.sent[0].req.method, w.sent[0].body], ['DELETE', ''])
})

// Faults: 62, 64.
test('N25 given two presses with the same body, then one POST, and both can read the answer', async () => {
  const form = text => {
    const body = new FormData()
    body.set('qty', '2')
    body.set('photo', new File([new Uint8Array([200, text])], 'a.png'))
    return body
  }
  for (const [make, other] of [
    [() => 'a=1', () => 'a=2'],
    [() => new URLSearchParams({ a: '1' }), () => new URLSearchParams({ a: '2' })],
    [() => form(201), () => form(202)], // a new boundary each time; files that differ in a byte that is no text
    [() => new Uint8Array([0, 254]), () => new Uint8Array([0, 255])]
  ]) {
    const w = world()
    w.answers = [said('executed', 201, {}, 'order 7')]
    const [a, b, c] = [make(), make(), other()].map(body => w.post(body))
    const ends = await Promise.all([a, b, c].map(p => w.end(p)))
    assert.equal(w.sent.length, 1)
    assert.deepEqual([await ends[0].value.text(), await ends[1].value.text()], ['order 7', 'order 7'])
    assert.equal(ends[2].error.code, 'busy')
  }
})

test('N25 given a second press of the same body at another address, or with a stream, then `busy`', async () => {
  const w = world({ stream: true })
  w.answers = [said('executed', 201)]
  const first = w.post()
  const other = w.order.fetch('http://shop.test/orders/7', { method: 'POST', body: 'a=1' })
  const stream = w.post(new Blob(['a=1']).stream(), { duplex: 'half' })
  const ends = await Promise.all([first, other, stream].map(p => w.end(p)))
  assert.deepEqual(ends.map(e => e.error?.code), [undefined, 'busy', 'busy'])
})

test('N25 given a press that fails, then whoever joined it fails alike, and the next press starts anew', async () => {
  const w = world()
  w.answers = [said('conflict', 422)]
  const ends = await Promise.all([w.post(), w.post()].map(p => w.end(p)))
  assert.deepEqual(ends.map(e => e.error.code), ['conflict', 'conflict'])
  assert.equal(w.sent.length, 1)
})

// Faults: 68.
test('N26 given a gesture from before the slot settled, then it joins or is dropped', async () => {
  const w = world()
  const early = performance.now()
  w.answers = [said('executed', 201)]
  await w.end(w.post())
  assert.equal((await w.end(w.post('a=1', { at: early }))).value.status, 201)
  assert.equal((await w.end(w.post('a=2', { at: early }))).error.code, 'busy')
  assert.equal(w.sent.length, 1)
  await w.end(w.post('a=1', { at: performance.now() }))
  await w.end(w.post('a=1'))
  assert.deepEqual(tokens(w), ['T1', 'T2', 'T3'], 'later gestures are actions of their own')
})

test('N32 given a pending action of an earlier page, when asked, then the state says what became of it', async () => {
  for (const [answer, want, pending] of [
    [state('succeeded'), 'empty', false], [state('failed'), 'empty', false],
    [state('released'), 'ready', true], [state('uncertain'), 'stuck', true],
    [state('absent'), 'unknown', true], [state('buried'), 'unknown', true],
    [() => new Response('{"verdict":"foreign"}', { status: 403 }), 'unknown', true], [lost, 'unknown', true]
  ]) {
    const w = world()
    w.answers = [lost]
    await w.end(w.post())
    w.answers = [said('executed', 201)]
    w.verdicts = [answer]
    const page = w.make()
    w.listen(page)
    assert.deepEqual([page.state, page.pending() > 0], ['unknown', true])
    assert.equal((await w.end(page.ask())).value, want)
    assert.deepEqual([page.state, page.pending() > 0, w.record()?.token], [want, pending, pending ? 'T1' : undefined])
    assert.deepEqual(w.asked[0], { path: 'status', token: 'T1', operation: 'shop:order:create', context: 'cart:42' })
    assert.equal(w.sent.length, 4, 'nothing is sent by itself')
  }
})

test('N32 given an action that still runs, then it is asked about again until it is over, or the deadline', async () => {
  const w = world()
  w.answers = [lost]
  await w.end(w.post())
  w.verdicts = [state('processing'), state('processing'), state('succeeded')]
  assert.equal((await w.end(w.make().ask())).value, 'empty')
  assert.equal(w.asked.length, 3)
  await w.end(w.post())
  w.verdicts = [state('processing')]
  const begun = w.now
  assert.equal((await w.end(w.make().ask())).value, 'stuck')
  assert.ok(w.now - begun <= 60e3 && w.asked.length < 40, `${w.asked.length} questions in ${w.now - begun} ms`)
})

test('N32 given a press while it is asked, then the press decides, and what was asked does not', async () => {
  const w = world()
  w.answers = [lost]
  await w.end(w.post())
  let answer
  w.verdicts = [() => new Promise(yes => { answer = yes })]
  const asked = w.order.ask()
  await w.calm()
  w.answers = [lost, said('replayed', 201)]
  const press = w.post()
  await w.calm()
  answer(state('succeeded')())
  assert.ok((await w.end(asked)).value !== 'empty')
  assert.equal((await w.end(press)).value.status, 201)
  assert.deepEqual(new Set(tokens(w)), new Set(['T1']))
  assert.equal((await w.end(w.order.ask())).value, 'empty', 'and with nothing pending nothing is asked')
  assert.equal(w.asked.length, 1)
})

test('N47 given an action given up, then the slot is free only if the discard endpoint says `dead`', async () => {
  for (const [answer, want] of [
    [state('buried', 'dead'), 'empty'], [state('buried', 'forgotten'), 'unknown'], [state('processing'), 'stuck'],
    [state('succeeded'), 'empty'], [state('uncertain'), 'stuck'], [state('absent'), 'unknown'],
    [() => new Response('', { status: 503 }), 'unknown'], [() => new Response('', { status: 403 }), 'unknown'], [lost, 'unknown']
  ]) {
    const w = world()
    w.answers = [lost]
    await w.end(w.post())
    w.verdicts = [answer]
    assert.equal((await w.end(w.order.abandon())).value, want)
    assert.deepEqual(w.asked.map(a => [a.path, a.token]), [['discard', 'T1']])
    w.answers = [said('executed', 201)]
    await w.end(w.post())
    assert.equal(w.sent.at(-1).token, want === 'empty' ? 'T2' : 'T1')
  }
})

test('N47 given a token that was never sent, then giving up needs nobody', async () => {
  const w = world()
  await w.end(w.order.prefetch())
  assert.equal(await w.order.abandon(), 'empty')
  assert.equal(w.asked.length, 0)
})

test('N47 given an attempt in flight, then neither asking nor giving up interferes', async () => {
  const w = world()
  let answer
  w.answers = [() => new Promise(yes => { answer = yes })]
  const press = w.post()
  await w.pass(10)
  assert.equal((await w.end(w.order.abandon())).value, 'sent')
  assert.equal((await w.end(w.order.prefetch())).value, 'sent')
  answer(said('executed', 201)())
  assert.equal((await w.end(press)).value.status, 201)
  assert.deepEqual([w.asked.length, w.issued.length], [0, 1])
})

test('begin gives the token of the slot, written down as sent; none, when none is there', async () => {
  const w = world()
  assert.equal(w.order.begin(), undefined)
  await w.end(w.order.prefetch())
  assert.equal(w.order.begin(), 'T1')
  assert.deepEqual([w.order.state, w.record().token], ['sent', 'T1'])
  assert.equal(w.order.begin(), 'T1', 'pressed again: the same')
  w.verdicts = [state('succeeded')]
  assert.equal((await w.end(w.order.ask())).value, 'empty')
  assert.equal(w.order.begin(), undefined)
})

test('dispose ends what goes on by itself, and keeps what is pending', async () => {
  const w = world()
  w.answers = [lost]
  const press = w.post()
  await w.pass(5)
  w.order.dispose()
  assert.equal((await w.end(press)).error.code, 'unknown')
  assert.deepEqual([w.sent.length, w.order.state, w.record().token], [1, 'stuck', 'T1'])
})

test('options: header, endpoint, retries and deadline are as they are set, within the limits', async () => {
  const seen = []
  const w = world({
    header: 'X-Token', endpoint: 'http://shop.test/api/idem', retries: 9, deadline: 9e9,
    fetch: async (input, init) => {
      const req = new Request(input, init)
      seen.push([new URL(req.url).pathname, req.headers.get('X-Token')])
      if (seen.length > 9) throw new Error('too many')
      return req.url.endsWith('/tokens') ? Response.json({ token: 'T1', expiresIn: 900, retain: 86400 }) : new Response('', { status: 500 })
    }
  })
  assert.equal((await w.end(w.post())).error.code, 'unknown')
  assert.deepEqual(seen, [['/api/idem/tokens', null], ...Array(4).fill(['/orders', 'T1'])])
})

test('defaults: without options it uses the platform, and AbortSignal.any is not needed', async () => {
  const { any } = AbortSignal
  const { fetch } = globalThis
  AbortSignal.any = undefined
  const w = world()
  w.answers = [said('executed', 201)]
  globalThis.fetch = w.fetch
  try {
    const { createIdem } = await import('./subject.mjs')
    const order = createIdem({ operation: 'shop:order:create' })
    const heard = []
    order.events.addEventListener('idem:settle', e => heard.push(e.detail.state, e.bubbles, e.detail.response.status))
    assert.equal((await w.end(order.fetch('http://shop.test/orders', { method: 'POST', body: 'a=1' }))).value.status, 201)
    assert.deepEqual(heard, ['empty', true, 201])
    assert.deepEqual(w.issued[0].context, '')
  } finally {
    AbortSignal.any = any
    globalThis.fetch = fetch
  }
})

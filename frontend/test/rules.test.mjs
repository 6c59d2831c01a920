// One test for each named rule (FRONTEND section 3, PROTOCOL section 5). `npm run broken` breaks
// each rule in turn, as broken.mjs says, and expects the tests of that name to fail.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { lost, redirected, said, silence, start, world } from './world.mjs'

const tokens = w => w.sent.map(s => s.token)
/** Plays presses, each with the answers it gets; a list of tokens, one list for each press. */
const presses = async (w, ...rounds) => {
  const out = []
  for (const answers of rounds) {
    const before = w.sent.length
    w.answers = answers
    await w.end(w.post())
    out.push(tokens(w).slice(before))
  }
  return out
}

test('C1 two actions never share a token', async () => {
  const w = world()
  assert.deepEqual(await presses(w, [said('executed')], [said('replayed')], [said(null, 200)], [said('conflict', 422)]), [['T1'], ['T2'], ['T3'], ['T4']])
})

test('C2 a token that was sent never counts as fresh again', async () => {
  const w = world()
  await presses(w, [said('released', 422)])
  assert.equal(w.order.state, 'ready')
  assert.equal(w.order.pending(), w.sent[0].at)
  assert.equal(w.record().token, 'T1', 'a page shown anew goes on with it')
  await w.end(w.order.prefetch())
  assert.deepEqual([w.issued.length, w.order.state], [1, 'ready'])
})

test('C3 what is sent again by itself carries the same token', async () => {
  for (const answer of [lost, silence, said(null, 500), said(null, 429), said('in-flight', 409), said('uncertain', 500), said('unavailable', 503)]) {
    const w = world()
    w.rnd = 0
    assert.deepEqual(await presses(w, [answer, answer, said('replayed', 201)]), [['T1', 'T1', 'T1']])
  }
})

test('C4 a dead token is replaced once, in time, and only if no attempt with it is unknown', async () => {
  assert.deepEqual(await presses(world(), [said('dead', 425), said('executed', 201)]), [['T1', 'T2']])
  assert.deepEqual(await presses(world(), [lost, said('dead', 425), said('executed', 201)]), [['T1', 'T1']])
  assert.deepEqual(await presses(world(), [said('dead', 425), said('dead', 425), said('executed', 201)]), [['T1', 'T2']])
  const w = world()
  const late = () => {
    w.now += 3600e3
    return said('dead', 425)()
  }
  assert.deepEqual(await presses(w, [late, said('executed', 201)]), [['T1']])
  assert.deepEqual(w.issued.map(i => i.context), ['cart:42'])
})

test('C5 it is written down before the bytes leave, and no error, abort or reload removes it', async () => {
  const ctl = new AbortController()
  for (const answer of [lost, silence, said(null, 500), () => { ctl.abort(); return lost() }]) {
    const w = world()
    w.answers = [answer]
    await w.end(w.post('a=1', { signal: ctl.signal.aborted ? undefined : ctl.signal }))
    for (const { record } of w.sent) {
      assert.deepEqual(Object.values(record).map(text => JSON.parse(text).token), ['T1'], 'at the moment it was sent')
    }
    assert.equal(w.record().token, 'T1', 'afterwards')
    const page = w.make()
    assert.equal(page.state, 'unknown')
    w.answers = [said('replayed', 201)]
    await w.end(page.fetch('http://shop.test/orders', { method: 'POST', body: 'a=1' }))
    assert.equal(w.sent.at(-1).token, 'T1')
    assert.deepEqual(w.storage, {}, 'a verdict removes it')
  }
})

// Faults: 62, 64.
test('C6 one attempt is in flight: the same body joins it, another is busy', async () => {
  const w = world()
  w.answers = [said('in-flight', 409, { 'Retry-After': '1' }), said('replayed', 201, {}, 'order 7')]
  const ends = await Promise.all([w.post('a=1'), w.post('a=1'), w.post('a=2')].map(p => w.end(p)))
  assert.deepEqual(w.sent.map(s => s.body), ['a=1', 'a=1'])
  assert.equal(await ends[1].value.text(), 'order 7')
  assert.equal(ends[2].error.code, 'busy')
})

test('C7 an abort and a time-out leave it unknown', async () => {
  for (const abort of [true, false]) {
    const w = world()
    const ctl = new AbortController()
    w.answers = [silence]
    const press = w.post('a=1', { signal: ctl.signal })
    if (abort) {
      await w.pass(10)
      ctl.abort()
    }
    await w.end(press)
    assert.ok(['unknown', 'stuck'].includes(w.order.state), w.order.state)
    assert.deepEqual(await presses(w, [said('dead', 425), said('executed', 201)]), [['T1']], 'so it is never swapped')
  }
})

// Faults: 65.
test('C8 a body that cannot be sent again is sent once', async () => {
  const w = world({ stream: true })
  w.answers = [lost]
  const body = new ReadableStream({ start(c) { c.enqueue(new Uint8Array(3)); c.close() } })
  await w.end(w.post(body, { duplex: 'half' }))
  assert.deepEqual([w.tries, w.sent.length], [1, 1])
})

test('C9 four attempts without an answer, sixty seconds, and less than the server remembers', async () => {
  let w = world()
  w.answers = Array(40).fill(lost)
  await w.end(w.post())
  assert.equal(w.sent.length, 4)
  w = world()
  w.answers = [said('in-flight', 409, { 'Retry-After': '5' })]
  await w.end(w.post())
  assert.ok(w.sent.length > 4 && w.now <= start + 60e3, `${w.sent.length} attempts, ${w.now - start} ms`)
  w = world()
  w.tokens = [() => Response.json({ token: 'T1', expiresIn: 5, retain: 20 })]
  w.answers = [said('in-flight', 409, { 'Retry-After': '5' })]
  await w.end(w.post())
  assert.ok(w.now < start + 20e3, `${w.now - start} ms of 20,000`)
  w = world()
  w.answers = [silence]
  await w.end(w.post())
  assert.ok(w.now <= start + 60e3, `silence, too: ${w.now - start} ms`)
  assert.equal(w.order.state, 'stuck')
})

test('C10 only a verdict settles, and a 2xx that no redirect led to', async () => {
  for (const [answer, next] of [
    [said('executed', 500), 'T2'], [said(null, 204), 'T2'], [said(null, 401), 'T1'], [said(null, 302), 'T1'], [redirected(null, 200), 'T1']
  ]) {
    assert.deepEqual(await presses(world(), [answer], [said('executed', 201)]), [['T1'], [next]])
  }
  for (const status of [408, 425, 429, 500, 502]) {
    assert.deepEqual(await presses(world(), [said(null, status), said('replayed', 201)]), [['T1', 'T1']])
  }
})

// Faults: 67.
test('C11 no clock replaces a token that was sent', async () => {
  for (const jump of [900e3, 86400e3, -86400e3]) {
    for (const answer of [lost, said('released', 422), said('uncertain', 409), said(null, 401)]) {
      const w = world()
      await presses(w, [answer])
      w.now += jump
      await w.end(w.order.prefetch())
      const [again] = await presses(w, [said('executed', 201)])
      assert.deepEqual(again, ['T1'])
    }
  }
})

test('C12 pressed again without an answer, it is the same token, as often as one likes', async () => {
  const w = world()
  const rounds = await presses(w, [lost], [silence], [said(null, 503)], [said('replayed', 201)])
  assert.deepEqual(new Set(rounds.flat()), new Set(['T1']))
})

// Faults: 68.
test('C13 a gesture older than the settling begins nothing', async () => {
  const w = world()
  const at = performance.now()
  await presses(w, [said('executed', 201)])
  await w.end(w.post('a=1', { at }))
  await w.end(w.post('a=2', { at }))
  assert.deepEqual(tokens(w), ['T1'])
})

test('C13 nor does one older than the answer of the status endpoint, or of a form', async () => {
  const w = world()
  await presses(w, [lost])
  const page = w.make()
  const at = performance.now()
  w.verdicts = [() => Response.json({ state: 'succeeded' })]
  assert.equal((await w.end(page.ask())).value, 'empty')
  const { error } = await w.end(page.fetch('http://shop.test/orders', { method: 'POST', body: 'a=1', at }))
  assert.equal(error.code, 'busy')
  assert.equal(page.begin(at), '')
  await w.end(page.prefetch())
  assert.equal(page.begin(at), '')
  assert.equal(page.begin(performance.now()), 'T2', 'a gesture of its own is an action of its own')
  assert.deepEqual(new Set(tokens(w)), new Set(['T1']))
})

test('C14 a degraded token, or a run that was unprotected, is never sent again by itself', async () => {
  const w = world()
  w.tokens = [() => Response.json({ token: 'D', expiresIn: 900, retain: 86400, degraded: true })]
  assert.deepEqual(await presses(w, [said(null, 502), said('executed', 201)]), [['D']])
  for (const status of [200, 500, 503]) {
    assert.deepEqual(await presses(world(), [said('unprotected', status), said('executed', 201)]), [['T1']])
  }
})

test('T3 a token is replaced on `dead` alone', async () => {
  assert.deepEqual(await presses(world(), [said('dead', 425), said('executed', 201)]), [['T1', 'T2']])
  for (const [verdict, status] of [
    ['in-flight', 409], ['uncertain', 409], ['unavailable', 503], ['used', 409], ['conflict', 422], ['forgotten', 410],
    ['missing', 400], ['missing', 425], ['malformed', 400], ['foreign', 403], ['released', 422], [null, 425], [null, 410], [null, 401]
  ]) {
    const w = world()
    await presses(w, [said(verdict, status)])
    assert.deepEqual([new Set(tokens(w)), w.issued.length], [new Set(['T1']), 1], `${verdict} ${status}`)
  }
})

test('T4 a 425 without a verdict is TLS early data: the same token again', async () => {
  const w = world()
  assert.deepEqual(await presses(w, [said(null, 425), said('executed', 201)]), [['T1', 'T1']])
  assert.equal(w.issued.length, 1)
})

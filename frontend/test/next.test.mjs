// What next says where createIdem never leads, and that it is pure.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { next } from './subject.mjs'

const freeze = o => Object.freeze(o)
const at = (now, e) => freeze({ now, rnd: 0, max: 6e4, tries: 4, after: NaN, ...e })
const res = status => ({ status, ok: status < 300, redirected: false })
const empty = freeze({ phase: 'empty', act: '', losses: 0 })

test('T3 `missing` where none was sent fetches a token, and once only', () => {
  const sent = freeze({ ...empty, phase: 'sent', first: 1000, begun: 1000 })
  const s = next(sent, at(1001, { type: 'send', res: res(400), verdict: 'missing' }))
  assert.deepEqual([s.phase, s.act], ['fetching', 'swap'])
  const again = next({ ...s, phase: 'sent', first: 1002 }, at(1003, { type: 'send', res: res(400), verdict: 'missing' }))
  assert.deepEqual([again.phase, again.act], ['rejected', 'rejected'])
  const held = next({ ...sent, token: 'T1' }, at(1001, { type: 'send', res: res(400), verdict: 'missing' }))
  assert.deepEqual([held.phase, held.act, held.token], ['ready', 'rejected', 'T1'])
})

test('the same slot and event give the same slot, and neither is changed', () => {
  const press = next(empty, at(1000, { type: 'press' }))
  assert.deepEqual(press, next(empty, at(1000, { type: 'press' })))
  const fresh = freeze(next(freeze(press), at(1001, { type: 'tokens', data: freeze({ token: 'T1', expiresIn: 900, retain: 86400 }) })))
  assert.deepEqual([fresh.phase, fresh.token, fresh.due], ['fresh', 'T1', 1])
  const sent = freeze(next(fresh, at(1002, { type: 'go' })))
  assert.deepEqual([sent.phase, sent.act, sent.first], ['sent', 'send', 1002])
  assert.equal(next(sent, at(1003, { type: 'send', res: res(201), verdict: 'executed' })).phase, 'empty')
})

test('a wait that ends after the deadline (a laptop that slept) sends nothing', () => {
  const s = freeze({ ...empty, phase: 'waiting', token: 'T1', first: 1000, begun: 1000 })
  assert.equal(next(s, at(60e3, { type: 'go' })).act, 'retry')
  const late = next(s, at(3600e3, { type: 'go' }))
  assert.deepEqual([late.phase, late.act, late.token], ['stuck', 'unknown', 'T1'])
})

test('an answer about another token changes nothing', () => {
  const s = freeze({ ...empty, phase: 'unknown', token: 'T2', first: 1000, begun: 1000 })
  const kept = next(s, at(1001, { type: 'unknown', token: 'T1', data: { state: 'succeeded' } }))
  assert.deepEqual([kept.phase, kept.act, kept.token], ['unknown', '', 'T2'])
})

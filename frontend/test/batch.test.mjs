// batch.js: the tokens of several forms in one request.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { batched } from '../batch.js'
import { createIdem } from './subject.mjs'

/** A server of tokens that refuses some operations; gives what it was asked. */
const server = (refused = [], status = 403) => {
  const asked = []
  let n = 0
  const fetch = async (url, init) => {
    const want = JSON.parse(init.body)
    asked.push(want.items?.map(item => item.context) ?? want.context)
    if (status >= 500 || (want.items ?? [want]).some(item => refused.includes(item.context))) return new Response('', { status })
    const token = () => ({ token: 'T' + ++n, expiresIn: 900, retain: 86400, degraded: false })
    return Response.json(want.items ? { items: want.items.map(token) } : token())
  }
  return { asked, fetch }
}
const orders = (send, contexts, endpoint) => contexts.map(context => createIdem({ operation: 'shop:order:create', context, fetch: send, endpoint, retries: 1 }))
const warm = async list => (await Promise.all(list.map(order => order.prefetch())))

test('given several forms that want a token at once, then one request, and each has its own', async () => {
  const { asked, fetch } = server()
  const list = orders(batched(fetch), ['a', 'b', 'c'])
  assert.deepEqual(await warm(list), ['fresh', 'fresh', 'fresh'])
  assert.deepEqual(asked, [['a', 'b', 'c']])
  assert.deepEqual(list.map(order => order.begin()), ['T1', 'T2', 'T3'])
  assert.deepEqual(await warm(orders(batched(fetch), ['d'])), ['fresh'])
  assert.deepEqual(asked[1], 'd', 'one alone asks as ever')
})

test('given 101 forms, then two requests, for the server takes a hundred at once', async () => {
  const { asked, fetch } = server()
  await warm(orders(batched(fetch), Array.from({ length: 101 }, (_, i) => 'c' + i)))
  assert.deepEqual(asked.map(a => Array.isArray(a) ? a.length : 1), [100, 1])
})

test('given one item that is refused, then each asks for itself, and the others have their tokens', async () => {
  for (const status of [400, 403]) {
    const { asked, fetch } = server(['b'], status)
    assert.deepEqual(await warm(orders(batched(fetch), ['a', 'b', 'c'])), ['fresh', 'empty', 'fresh'])
    assert.deepEqual(asked, [['a', 'b', 'c'], 'a', 'b', 'c'])
  }
})

test('given a server that is down, then it is asked once for all of them', async () => {
  const { asked, fetch } = server([], 503)
  assert.deepEqual(await warm(orders(batched(fetch), ['a', 'b'])), ['empty', 'empty'])
  assert.deepEqual(asked, [['a', 'b']])
  let tries = 0
  const lost = async () => { tries++; throw new TypeError('fetch failed') }
  assert.deepEqual(await warm(orders(batched(lost), ['a', 'b'])), ['empty', 'empty'])
  assert.equal(tries, 1)
})

test('given two endpoints, or anything but tokens, then they are left apart', async () => {
  const { asked, fetch } = server()
  const send = batched(fetch)
  await warm([...orders(send, ['a'], '/one'), ...orders(send, ['b'], '/two')])
  assert.deepEqual(asked, ['a', 'b'])
  await send('/orders', { method: 'POST', body: '{"context":"as it is"}' })
  assert.deepEqual(asked[2], 'as it is')
})

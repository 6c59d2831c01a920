// A world for idem.js without a network or a clock: time stands still until something waits for
// it, the token endpoint answers by itself, and the action's answers are written by the test.
import { createIdem } from './subject.mjs'

const real = { setTimeout: globalThis.setTimeout, timeout: AbortSignal.timeout }
const calm = async () => { for (let i = 0; i < 20; i++) await new Promise(setImmediate) }

/** When every world begins, ms. */
export const start = Date.UTC(2026, 10, 30)

/** An answer: said('dead', 425), said('in-flight', 409, { 'Retry-After': '2' }), said(null, 401). */
export const said = (verdict, status = 200, headers = {}, body = 'ok') =>
  () => new Response(status === 204 ? null : body, { status, headers: { ...headers, ...(verdict && { 'Idempotency-Status': verdict }) } })
/** The connection broke: the server may have run it. */
export const lost = () => { throw new TypeError('fetch failed') }
/** Nothing ever comes. */
export const silence = req => new Promise((_, no) => req.signal.addEventListener('abort', () => no(req.signal.reason)))
/** The answer of a page that a redirect led to. */
export const redirected = (...answer) => () => Object.defineProperty(said(...answer)(), 'redirected', { value: true })

/**
 * @param {object} [options] of createIdem
 */
export const world = (options = {}) => {
  const w = {
    now: start,
    rnd: 0.5,
    tries: 0, // calls of fetch for the action, whatever came of them
    sent: [], // {at, token, body, url, type} of each action on the wire
    issued: [], // {at, operation, context} of each request for a token
    asked: [], // {path, token, context} of each question to status or discard
    events: [],
    answers: [], // of the action, in order; the last one stays
    tokens: [], // answers of the token endpoint, in order; then tokens T1, T2, …
    verdicts: [], // answers of status and discard, in order; the last one stays
    timers: [],
    storage: {},
    record: () => Object.values(w.storage).map(text => JSON.parse(text))[0]
  }
  const take = list => list.length > 1 ? list.shift() : list[0]
  w.fetch = async (input, init) => {
    if (!/\/idempotency\//.test(input.url ?? input)) w.tries++
    const req = new Request(typeof input === 'string' ? new URL(input, 'http://shop.test') : input, init)
    const token = req.headers.get('Idempotency-Token')
    req.signal.throwIfAborted()
    const path = new URL(req.url).pathname
    if (path.startsWith('/idempotency/')) {
      const { operation, context } = await req.json()
      if (path === '/idempotency/tokens') {
        w.issued.push({ at: w.now, operation, context })
        const n = w.issued.length
        return (w.tokens.shift() ?? (() => Response.json({ token: 'T' + n, expiresIn: 900, retain: 86400, degraded: false })))(req)
      }
      w.asked.push({ path: path.slice(13), token, operation, context })
      return take(w.verdicts)(req)
    }
    w.sent.push({
      at: w.now, token, url: req.url, type: req.headers.get('content-type'), record: structuredClone(w.storage),
      body: req.body && !options.stream ? await req.clone().text() : '', req
    })
    return take(w.answers)(req)
  }
  w.make = ({ idem = createIdem, ...more } = {}) => idem({
    operation: 'shop:order:create', context: 'cart:42', storage: w.storage, fetch: w.fetch,
    now: () => w.now, random: () => w.rnd, ...options, ...more
  })
  w.order = w.make()
  w.listen = order => {
    for (const name of ['fetching', 'tokens', 'fresh', 'degraded', 'issue', 'send', 'retry', 'waiting', 'unknown', 'swap', 'ready', 'replayed', 'settle', 'used', 'rejected', 'conflict', 'foreign', 'forgotten', 'malformed']) {
      order.events.addEventListener('idem:' + name, e => w.events.push(e.type.slice(5)))
    }
  }
  w.listen(w.order)
  w.post = (body = 'a=1', init = {}) => w.order.fetch('http://shop.test/orders', { method: 'POST', body, ...init })

  globalThis.setTimeout = (f, ms = 0) => { w.timers.push({ at: w.now + ms, f }) }
  AbortSignal.timeout = ms => {
    const ctl = new AbortController()
    w.timers.push({ at: w.now + ms, f: () => ctl.abort(new DOMException('timed out', 'TimeoutError')) })
    return ctl.signal
  }
  /** Lets everything happen that needs no time. */
  w.calm = calm
  /** Lets time pass, in order, until so many ms are over. */
  w.pass = async ms => {
    const end = w.now + ms
    for (;;) {
      await calm()
      w.timers.sort((a, b) => a.at - b.at)
      if (!w.timers.length || w.timers[0].at > end) break
      const { at, f } = w.timers.shift()
      w.now = Math.max(w.now, at)
      f()
    }
    w.now = Math.max(w.now, end)
  }
  /** Lets time pass until the promise ends: {value} or {error}. Fails after an hour of its time. */
  w.end = async promise => {
    let ended
    promise.then(value => { ended = { value } }, error => { ended = { error } })
    for (const end = w.now + 36e5; ;) {
      await calm()
      if (ended) return ended
      if (w.now > end || !w.timers.length) throw new Error('it never ends')
      w.timers.sort((a, b) => a.at - b.at)
      const { at, f } = w.timers.shift()
      w.now = Math.max(w.now, at)
      f()
    }
  }
  return w
}

export const restore = () => {
  globalThis.setTimeout = real.setTimeout
  AbortSignal.timeout = real.timeout
}

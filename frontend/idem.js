/**
 * idem.js sends one action with one token, so that a double click, a lost answer, a reload or
 * a browser that resends below JavaScript ends in one run on the server.
 *
 *     const order = createIdem({ operation: 'shop:order:create', context: 'cart:42' })
 *     const res = await order.fetch('/orders', { method: 'POST', body })
 *
 * The file has two halves. `next(slot, event)` is the law: a pure function that decides what
 * becomes of an action; it has no clock, network or storage of its own, and the models of the
 * test suite run this very function. `createIdem` is the machinery: it does what `next` says
 * and tells it what came of it. Two things are easy to get wrong, and are why this file exists:
 *
 *   - An error, an abort and a time-out say nothing: the server may have run it. From then on
 *     the action keeps its token, whatever happens, until an answer with a verdict comes.
 *   - A 425 is no reason to take a new token. Only the verdict `dead` is, in time, and only if
 *     no earlier attempt ended without an answer (PROTOCOL section 5, rule T3).
 *
 * The built file must stay small, so the slot's fields are few, and get one letter each there.
 */

/**
 * What this page knows of its action. `waiting`, `unknown` and `stuck`: it may have run, or be
 * running. `ready`: it did not run, or something that is not the guard answered (a login page).
 * @typedef {'empty'|'fetching'|'fresh'|'sent'|'ready'|'waiting'|'unknown'|'stuck'|'rejected'} State
 */

/**
 * Why fetch rejects. `unknown`: it may have run; ask, press again or abandon · `busy`: another
 * body is on its way in this slot · `used`: it ran, the answer was not kept · `rejected`: it did
 * not run · `conflict`, `foreign`, `forgotten`, `malformed`: the server's verdicts · `issue`:
 * there was no token to be had, nothing was sent.
 * @typedef {'unknown'|'busy'|'used'|'rejected'|'conflict'|'foreign'|'forgotten'|'malformed'|'issue'} Code
 */

/**
 * What to do now, and the name of the event that the page hears (`idem:retry`). tokens, swap:
 * fetch a token · send, retry: send · settle, replayed, ready: the caller gets the answer · a
 * Code: the caller gets an error · '': nothing · the others: wait, if something is due.
 * @typedef {Code|'tokens'|'swap'|'send'|'retry'|'settle'|'replayed'|'ready'|'fetching'|'fresh'|'degraded'|'waiting'|''} Act
 */

/**
 * One slot: a token, and what is known of the action it belongs to.
 * @typedef {object} Slot
 * @property {State} phase
 * @property {Act} act
 * @property {number} due        first wait so many ms; 0: do not
 * @property {string} [token]
 * @property {number} expiresIn  of the token, s; as the server said it, like the next two
 * @property {number} retain     for so long the server remembers it, s
 * @property {boolean} [degraded] the server does not protect repeats now: nothing is sent twice by itself (C14)
 * @property {number} got        when we got the token, ms of our clock
 * @property {number} first      when it was first sent; unset, and it may still be thrown away (C1, C2)
 * @property {number} lost       1: an attempt with it ended without an answer
 * @property {number} swapped    1: it replaced a dead one (C4: once an action)
 * @property {number} begun      when the person asked for it, this time
 * @property {number} losses     attempts without an answer since then
 */

/**
 * press: a person wants it done · go: the wait is over · warm: have a token ready · status,
 * discard: ask about it, give it up · tokens, swap, unknown, send, retry: that act was done,
 * and this came of it.
 * @typedef {object} Event
 * @property {'press'|'go'|'warm'|'status'|'discard'|'tokens'|'swap'|'unknown'|'send'|'retry'} type
 * @property {number} now       ms of our clock
 * @property {number} rnd       a random number, 0 ≤ rnd < 1
 * @property {number} max       the deadline, ms
 * @property {number} tries     so many attempts may end without an answer
 * @property {{ok: boolean, status: number, redirected: boolean}} [res] the answer; absent: there was none
 * @property {string|null} [verdict]
 * @property {number} after     Retry-After in ms, NaN if there is none that can be read
 * @property {any} [data]       the JSON of an endpoint, where it said yes
 * @property {boolean} [once]   it cannot be done again: the body is a stream (C8)
 * @property {string} [token]   the token it was done with
 */

/**
 * Decides. Pure: the same slot and event give the same slot, and neither is changed.
 * @param {Slot} s
 * @param {Event} e
 * @returns {Slot}
 */
export function next(s, e) {
  let { type, now, res, verdict, data } = /** @type {any} */ (e)
  /** @type {(phase: State, act?: Act, more?: Partial<Slot> | false) => Slot} */
  const to = (phase, act = /** @type {any} */ (phase), more) => ({ ...s, phase, act, due: 0, ...more })
  // The slot is done with its token. There is no other way to be rid of one that was sent.
  /** @type {(act: Act, more?: Partial<Slot>) => Slot} */
  const over = (act, more) => /** @type {any} */ ({ phase: 'empty', act, begun: s.begun, losses: 0, ...more })
  const stay = to(s.phase, '')
  const timely = (/** @type {number} */ since, till = now) => since <= now && till - since <= Math.min(e.max, s.retain * 900 || e.max)
  const stuck = to('stuck', 'unknown', { lost: 1 })
  // Retry-After, within half the deadline, then full jitter that grows with the time gone by.
  const due = Math.min(e.after > 0 ? e.after : 0, e.max / 2) + e.rnd * (now - s.begun + 500) + 1
  // The same again, if there is time, budget and a body left (C3, C8, C9, C14).
  const again = (/** @type {'fetching'|'waiting'|'unknown'} */ phase, lost = 1, end = stuck, losses = s.losses + lost) =>
    e.once || s.degraded || losses >= e.tries || !timely(s.begun, now + due)
      ? end : to(phase, phase, { lost: s.lost || lost, losses, due })
  const silent = !res?.status || /408|42[59]|5../.test(res.status)

  switch (type) {
    case 'press':
      s = { ...s, losses: 0, begun: now }
    // fall through
    case 'go':
    case 'warm':
      if (s.phase === 'rejected') return to(s.phase)
      // The clock may throw away a token that was never sent, and no other (C11).
      if (!s.first && !(s.token && s.got <= now && now - s.got < s.expiresIn * 900)) {
        return to('fetching', 'tokens', { token: '' })
      }
      if (type === 'warm') return stay
      return timely(s.begun) ? to('sent', s.first ? 'retry' : 'send', { first: s.first || now }) : stuck

    case 'discard':
      if (!s.first) return over('')
    // fall through
    case 'status': // a page that comes back finds what was sent without an answer
      return s.first ? to('unknown', 'unknown', s.phase !== 'waiting' && { lost: 1, losses: 0, begun: now }) : stay

    case 'tokens':
    case 'swap':
      if (s.token) return { ...stay, due: 1 } // somebody else waited for it too
      if (!data?.token || !data.expiresIn) return silent ? again('fetching', 1, over('issue')) : over('issue')
      return over(data.degraded ? 'degraded' : 'fresh', { phase: 'fresh', due: 1, got: now, swapped: s.swapped, ...data })

    case 'unknown':
      if (e.token !== s.token) return stay
      // `absent` is "not seen so far", never "take a new token".
      verdict = data?.verdict === 'dead' ? 'failed' : data?.state
  }

  switch (verdict) {
    case 'executed':
    case 'unprotected':
    case 'succeeded':
    case 'failed':
      return over('settle')
    case 'replayed':
    case 'used':
      return over(verdict)
    case 'released':
      return to('ready')
    case 'in-flight':
    case 'uncertain':
    case 'unavailable':
    case 'processing':
      return again('waiting', 0)
    case 'missing':
      if (s.token) return to('ready', 'rejected')
    // fall through
    case 'dead':
      if (s.lost || !timely(s.first)) return stuck
      return s.swapped || s.degraded || e.once ? over('rejected', { phase: 'rejected' }) : over('swap', { phase: 'fetching', swapped: 1 })
    case 'conflict':
    case 'foreign':
    case 'forgotten':
    case 'malformed':
      return s.lost ? stuck : over(verdict, { phase: 'rejected' })
    case 'unguarded':
      if (!res.redirected) return over('settle') // else it was said of the page redirected to
  }
  if (type === 'unknown') return stay
  if (silent) return again('unknown')
  return res.ok && !res.redirected ? over('settle') : to('ready')
}

/** What fetch rejects with; a caller's own abort rejects with the signal's reason, as usual. */
export class IdemError extends Error {
  /**
   * @param {Code} code
   * @param {Response} [response] the answer that decided it, if there was one
   * @param {unknown} [cause]     the error that decided it, if there was one
   */
  constructor(code, response, cause) {
    super(code, { cause })
    this.code = code
    this.response = response
  }
}

/**
 * @typedef {object} Options
 * @property {string} operation  as in the server's policy: `system:domain:action`
 * @property {string} [context]  what the token is for, where the policy has a context: `cart:42`
 * @property {string} [user]     any text that says whose action it is: another login does not find this one's pending actions
 * @property {string} [endpoint] where the three endpoints are; default `/idempotency`
 * @property {string} [header]   default `Idempotency-Token`
 * @property {number} [retries]  attempts that may end without an answer; default and at most 4
 * @property {number} [deadline] ms that one press may take; default and at most 60 000
 * @property {Record<string, any>} [storage] keeps pending actions over a reload; default sessionStorage
 * @property {EventTarget} [on]  hears the events; default an EventTarget of its own
 * @property {typeof globalThis.fetch} [fetch]
 * @property {() => number} [now]    ms; default Date.now
 * @property {() => number} [random] default Math.random
 */

/**
 * One press and its answer.
 * @typedef {object} Job
 * @property {Request} req
 * @property {Promise<ArrayBuffer>} [body] absent: a stream, which cannot be sent again
 * @property {Promise<Response>} [done]
 */

/**
 * The slot of one context. `end` is when its last action ended, on the time line of
 * event.timeStamp: a press made before that belongs to that action (C13); Infinity while one is
 * on its way.
 * @typedef {{key: string, context: string, s: Slot, end: number, job?: Job, asked?: any}} Place
 */

const sleep = (/** @type {number} */ ms, /** @type {AbortSignal} */ signal) => new Promise((yes, no) => {
  signal?.throwIfAborted()
  setTimeout(yes, ms)
  signal?.addEventListener('abort', no)
})

// What two requests must share to be the same action: address and body, without the boundary
// that each FormData gets anew. A stream is equal to nothing.
const print = async (/** @type {any} */ { req, body } = {}) => body
  ? req.url + new TextDecoder('latin1').decode(await body).split(req.headers.get('content-type')?.split('boundary=')[1])
  : req

/**
 * Makes the sender of one operation. What an earlier page sent and got no answer for is found
 * again, in the state `unknown`; nothing is sent by itself.
 * @param {Options} options
 */
export function createIdem({
  operation, context = '', user = '', endpoint = '/idempotency', header = 'Idempotency-Token',
  retries = 4, deadline = 6e4, storage, on = new EventTarget(),
  fetch: send = fetch, now = Date.now, random = Math.random
}) {
  let max = Math.min(deadline, 6e4), owner = 0
  /** @type {Place} */
  let here
  /** @type {Record<string, any>} */
  let bag
  /** @type {Record<string, Place>} */
  const places = {}
  for (const c of user) owner = owner * 31 + c.charCodeAt(0) | 0 // keeps names out of the storage

  const open = (/** @type {string} */ context) => {
    const key = 'idem:' + [owner, operation, context]
    let s = /** @type {any} */ ({ phase: 'empty' })
    try {
      s = JSON.parse((bag = storage || sessionStorage)[key])
    } catch {} // nothing is there, or no storage: then the place remembers, as long as the page lives
    here = places[key] ??= { key, context, s, end: 0 }
  }
  open(context)

  // One event: decide, write ahead (C5: before anything leaves), tell the page.
  const step = (/** @type {Place} */ place, /** @type {any} */ e) => {
    const s = next(place.s, { ...e, now: now(), rnd: random(), max, tries: Math.min(retries, 4) })
    try {
      if (s.first) bag[place.key] = JSON.stringify({ ...s, phase: 'unknown', lost: 1 })
      else if (place.s.first) {
        if (place.end < 9e9) place.end = performance.now()
        delete bag[place.key]
      }
    } catch {}
    place.s = s
    if (s.act) on.dispatchEvent(new CustomEvent('idem:' + s.act, { bubbles: true, detail: { state: s.phase, response: e.res } }))
    return s
  }

  /** @type {(answer: Promise<Response>, json?: any) => Promise<any>} */
  const heard = async (answer, json) => {
    const res = await answer
    const after = /** @type {any} */ (res.headers.get('Retry-After'))
    return {
      res, verdict: res.headers.get('Idempotency-Status'),
      after: after * 1e3 || Date.parse(after) - now(), // seconds or a date
      data: json && res.ok && await res.json()
    }
  }

  const call = (/** @type {Place} */ { context, s }, /** @type {string} */ path) => heard(send(endpoint + path, {
    method: 'POST', signal: AbortSignal.timeout(max / 2),
    headers: /** @type {any} */ (s.first && { [header]: s.token }), body: JSON.stringify({ operation, context })
  }), 1)

  /**
   * Does what next says until there is nothing left to do. Without a job it gives way to a press,
   * which finds out by itself.
   * @param {Place} place
   * @param {Event['type']} type press (with a job), warm, status or discard
   * @param {Partial<Job>} [job]
   * @returns {Promise<any>} the answer; without a job the state
   */
  const run = async (place, type, { req, body } = {}) => {
    const signal = /** @type {AbortSignal} */ (req?.signal)
    let e = /** @type {any} */ ({ type }), /** @type {any} */ s
    if (req) type = 'go'
    while (req || place.end < 9e9) {
      s = step(place, e)
      const { act, token, due } = s
      try {
        if (due) await sleep(due, signal)
        else if (s.phase === 'fetching') e = await (place.asked ||= call(place, '/tokens').finally(() => place.asked = 0))
        else if (act && !req && s.phase === 'unknown') e = await call(place, '/' + type)
        else if (req && s.phase === 'sent') {
          req.headers.set(header, /** @type {string} */ (token))
          e = await heard(send(req, { body: await body, signal: AbortSignal.any?.([AbortSignal.timeout((s.begun + max - now()) / 2), signal]) }))
        } else break
      } catch (cause) {
        e = { cause }
        if (signal?.aborted) {
          step(place, { type: 'status' })
          throw signal.reason
        }
      }
      e = { ...e, type: due ? type : act, token, once: type === 'discard' || req && !body }
    }
    if (!req) return place.s.phase
    if (/settle|replayed|ready/.test(s.act)) return e.res
    throw new IdemError(/** @type {Code} */ (s.act), e.res, e.cause)
  }

  return {
    /** Where the events are heard. */
    events: on,
    /** Of the slot of the context that is set. */
    get state() { return here.s.phase },
    /** When the action was first sent whose end is not known, in ms; undefined if there is none. */
    pending: () => here.s.first,
    /** From now on another thing is acted upon; what was sent for the old one goes on to its end. */
    setContext: open,
    /** Has a token ready, so that a press need not wait for one. Never rejects. */
    prefetch: () => run(here, 'warm'),
    /**
     * Sends an action (not GET or HEAD) and gives its answer, which may be a replay. A second
     * call with the same body while the first is on its way gets the same answer, with another
     * body it is `busy`; so is one whose gesture, `init.at` = event.timeStamp, is older than
     * the end of the last action. `init.signal` ends the waiting, not what the server does.
     * @param {RequestInfo | URL} input
     * @param {RequestInit & {at?: number, duplex?: 'half'}} [init] duplex marks a stream, which is sent once
     * @returns {Promise<Response>} rejects with an IdemError, or the signal's reason
     */
    async fetch(input, init = {}) {
      const place = here, last = /** @type {Job} */ (place.job), req = new Request(input, init)
      /** @type {Job} */
      let job = { req, body: init.duplex ? undefined : req.arrayBuffer() }
      req.signal.throwIfAborted()
      if ((init.at ?? 9e9) < place.end) {
        if (await print(last) !== await print(job)) throw new IdemError('busy')
        job = last
      } else {
        place.job = job
        place.end = 1 / 0
        job.done = run(place, 'press', job).finally(() => place.end = performance.now())
      }
      return /** @type {Response} */ (await job.done).clone()
    },
    /**
     * For what sends by itself, as a native form does: the token to send now, written down as
     * sent; undefined if there is none (prefetch, then begin again), '' if the gesture, made `at`
     * event.timeStamp, is older than the end of the last action and begins nothing.
     * @param {number} [at]
     * @returns {any} a string or undefined
     */
    begin: at => /** @type {number} */ (at) < here.end ? '' : step(here, { type: 'press' }).first && here.s.token,
    /** Asks the server what became of a pending action, for as long as it runs; gives the state. */
    ask: () => run(here, 'status'),
    /** Gives a pending action up; gives the state, `empty` if the server says that it never ran and cannot run any more. */
    abandon: () => run(here, 'discard'),
    /** Nothing is sent by itself any more. What is pending stays written down. */
    dispose() { max = 0 }
  }
}

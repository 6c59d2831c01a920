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
export function next(s: Slot, e: Event): Slot;
/**
 * Makes the sender of one operation. What an earlier page sent and got no answer for is found
 * again, in the state `unknown`; nothing is sent by itself.
 * @param {Options} options
 */
export function createIdem({ operation, context, user, endpoint, header, retries, deadline, storage, on, fetch: send, now, random }: Options): {
    /** Where the events are heard. */
    events: EventTarget;
    /** Of the slot of the context that is set. */
    readonly state: State;
    /** When the action was first sent whose end is not known, in ms; undefined if there is none. */
    pending: () => number;
    /** From now on another thing is acted upon; what was sent for the old one goes on to its end. */
    setContext: (context: string) => void;
    /** Has a token ready, so that a press need not wait for one. Never rejects. */
    prefetch: () => Promise<any>;
    /**
     * Sends an action (not GET or HEAD) and gives its answer, which may be a replay. A second
     * call with the same body while the first is on its way gets the same answer, with another
     * body it is `busy`; so is one whose gesture, `init.at` = event.timeStamp, is older than
     * the end of the last action. `init.signal` ends the waiting, not what the server does.
     * @param {RequestInfo | URL} input
     * @param {RequestInit & {at?: number, duplex?: 'half'}} [init] duplex marks a stream, which is sent once
     * @returns {Promise<Response>} rejects with an IdemError, or the signal's reason
     */
    fetch(input: RequestInfo | URL, init?: RequestInit & {
        at?: number;
        duplex?: "half";
    }): Promise<Response>;
    /**
     * For what sends by itself, as a native form does: the token to send now, written down as
     * sent; undefined if there is none (prefetch, then begin again), '' if the gesture, made `at`
     * event.timeStamp, is older than the end of the last action and begins nothing.
     * @param {number} [at]
     * @returns {any} a string or undefined
     */
    begin: (at?: number) => any;
    /** Asks the server what became of a pending action, for as long as it runs; gives the state. */
    ask: () => Promise<any>;
    /** Gives a pending action up; gives the state, `empty` if the server says that it never ran and cannot run any more. */
    abandon: () => Promise<any>;
    /** Nothing is sent by itself any more. What is pending stays written down. */
    dispose(): void;
};
/** What fetch rejects with; a caller's own abort rejects with the signal's reason, as usual. */
export class IdemError extends Error {
    /**
     * @param {Code} code
     * @param {Response} [response] the answer that decided it, if there was one
     * @param {unknown} [cause]     the error that decided it, if there was one
     */
    constructor(code: Code, response?: Response, cause?: unknown);
    code: Code;
    response: Response | undefined;
}
/**
 * What this page knows of its action. `waiting`, `unknown` and `stuck`: it may have run, or be
 * running. `ready`: it did not run, or something that is not the guard answered (a login page).
 */
export type State = "empty" | "fetching" | "fresh" | "sent" | "ready" | "waiting" | "unknown" | "stuck" | "rejected";
/**
 * Why fetch rejects. `unknown`: it may have run; ask, press again or abandon · `busy`: another
 * body is on its way in this slot · `used`: it ran, the answer was not kept · `rejected`: it did
 * not run · `conflict`, `foreign`, `forgotten`, `malformed`: the server's verdicts · `issue`:
 * there was no token to be had, nothing was sent.
 */
export type Code = "unknown" | "busy" | "used" | "rejected" | "conflict" | "foreign" | "forgotten" | "malformed" | "issue";
/**
 * What to do now, and the name of the event that the page hears (`idem:retry`). tokens, swap:
 * fetch a token · send, retry: send · settle, replayed, ready: the caller gets the answer · a
 * Code: the caller gets an error · '': nothing · the others: wait, if something is due.
 */
export type Act = Code | "tokens" | "swap" | "send" | "retry" | "settle" | "replayed" | "ready" | "fetching" | "fresh" | "degraded" | "waiting" | "";
/**
 * One slot: a token, and what is known of the action it belongs to.
 */
export type Slot = {
    phase: State;
    act: Act;
    /**
     * first wait so many ms; 0: do not
     */
    due: number;
    token?: string | undefined;
    /**
     * of the token, s; as the server said it, like the next two
     */
    expiresIn: number;
    /**
     * for so long the server remembers it, s
     */
    retain: number;
    /**
     * the server does not protect repeats now: nothing is sent twice by itself (C14)
     */
    degraded?: boolean | undefined;
    /**
     * when we got the token, ms of our clock
     */
    got: number;
    /**
     * when it was first sent; unset, and it may still be thrown away (C1, C2)
     */
    first: number;
    /**
     * 1: an attempt with it ended without an answer
     */
    lost: number;
    /**
     * 1: it replaced a dead one (C4: once an action)
     */
    swapped: number;
    /**
     * when the person asked for it, this time
     */
    begun: number;
    /**
     * attempts without an answer since then
     */
    losses: number;
};
/**
 * press: a person wants it done · go: the wait is over · warm: have a token ready · status,
 * discard: ask about it, give it up · tokens, swap, unknown, send, retry: that act was done,
 * and this came of it.
 */
export type Event = {
    type: "press" | "go" | "warm" | "status" | "discard" | "tokens" | "swap" | "unknown" | "send" | "retry";
    /**
     * ms of our clock
     */
    now: number;
    /**
     * a random number, 0 ≤ rnd < 1
     */
    rnd: number;
    /**
     * the deadline, ms
     */
    max: number;
    /**
     * so many attempts may end without an answer
     */
    tries: number;
    /**
     * the answer; absent: there was none
     */
    res?: {
        ok: boolean;
        status: number;
        redirected: boolean;
    } | undefined;
    verdict?: string | null | undefined;
    /**
     * Retry-After in ms, NaN if there is none that can be read
     */
    after: number;
    /**
     * the JSON of an endpoint, where it said yes
     */
    data?: any;
    /**
     * it cannot be done again: the body is a stream (C8)
     */
    once?: boolean | undefined;
    /**
     * the token it was done with
     */
    token?: string | undefined;
};
export type Options = {
    /**
     * as in the server's policy: `system:domain:action`
     */
    operation: string;
    /**
     * what the token is for, where the policy has a context: `cart:42`
     */
    context?: string | undefined;
    /**
     * any text that says whose action it is: another login does not find this one's pending actions
     */
    user?: string | undefined;
    /**
     * where the three endpoints are; default `/idempotency`
     */
    endpoint?: string | undefined;
    /**
     * default `Idempotency-Token`
     */
    header?: string | undefined;
    /**
     * attempts that may end without an answer; default and at most 4
     */
    retries?: number | undefined;
    /**
     * ms that one press may take; default and at most 60 000
     */
    deadline?: number | undefined;
    /**
     * keeps pending actions over a reload; default sessionStorage
     */
    storage?: Record<string, any> | undefined;
    /**
     * hears the events; default an EventTarget of its own
     */
    on?: EventTarget | undefined;
    fetch?: typeof fetch | undefined;
    /**
     * ms; default Date.now
     */
    now?: (() => number) | undefined;
    /**
     * default Math.random
     */
    random?: (() => number) | undefined;
};
/**
 * One press and its answer.
 */
export type Job = {
    req: Request;
    /**
     * absent: a stream, which cannot be sent again
     */
    body?: Promise<ArrayBuffer> | undefined;
    done?: Promise<Response> | undefined;
};
/**
 * The slot of one context. `end` is when its last action ended, on the time line of
 * event.timeStamp: a press made before that belongs to that action (C13); Infinity while one is
 * on its way.
 */
export type Place = {
    key: string;
    context: string;
    s: Slot;
    end: number;
    job?: Job;
    asked?: any;
};

// The client: idem.js's own next(), and around it only what createIdem does with its word: send,
// fetch a token, write the slot down. Time stands still, save for an answer that comes late.

const now = 1, late = 1e9

/** What next is told of a verdict on the wire. */
const answers = {
  ok: { verdict: 'executed', status: 201 }, replayed: { verdict: 'replayed', status: 201 },
  released: { verdict: 'released', status: 422 }, 'in-flight': { verdict: 'in-flight', status: 409 },
  dead: { verdict: 'dead', status: 425 }, forgotten: { verdict: 'forgotten', status: 410 },
  foreign: { verdict: 'foreign', status: 403 }, missing: { verdict: 'missing', status: 400 },
  401: { status: 401 }
}

/**
 * @param {{next: Function}} subject idem.js, or a copy with something broken
 * @param {object} limits {tokens: how many there are, attempts: how often the action is sent}
 */
export const client = ({ next }, limits) => {
  const step = (n, e) => {
    const s = next(n.slot, { now, rnd: 0, max: 6e4, tries: 4, after: NaN, ...e })
    n.slot = s
    if (s.act === 'tokens' || s.act === 'swap') {
      if (n.tok >= limits.tokens) return false // the history ends here: there is no token left in this model
      n.tok++
      n.sends = 0
      return step(n, { type: s.act, data: { token: 'T' + n.tok, expiresIn: 900, retain: 86400 } })
    }
    if (s.act === 'send' || s.act === 'retry') {
      if (n.sends >= limits.attempts) return false
      n.sends++
      n.current = n.ids++
      n.net.push({ id: n.current, tok: Number(s.token.slice(1)) })
      n.slot = { ...s, act: '' }
      return true
    }
    // A fresh token is sent at once when a person is waiting for it.
    if (s.phase === 'fresh' && s.due && n.waiting) return step(n, { type: 'go' })
    n.slot = { ...s, act: '' } // it was done: two slots that differ in it alone are one state
    return true
  }
  const press = n => {
    n.waiting = true
    return step(n, { type: 'press' })
  }
  return {
    start: { slot: { phase: 'empty', act: '', losses: 0 }, tok: 0, sends: 0, current: 0, ids: 1, waiting: false, net: [], answers: [] },
    press,
    /** The wait that next asked for is over. */
    go: n => step(n, { type: 'go' }),
    /** No answer to the attempt in flight: an error, a time-out. */
    lose: n => {
      n.current = 0
      return step(n, { type: 'send' })
    },
    hear: (n, word, afterwards = false) => {
      n.current = 0
      const { verdict, status } = answers[word]
      return step(n, { type: 'send', now: afterwards ? late : now, verdict, res: { status, ok: status < 300, redirected: false } })
    },
    /** The page is gone; the next one finds what was written down, or nothing. */
    reload: (n, written) => {
      n.current = 0
      n.waiting = false
      n.slot = written && n.slot.first ? { ...n.slot, phase: 'unknown', lost: 1 } : { phase: 'empty', act: '', losses: 0 }
    },
    /** A new page of a person who was told that nothing was done. */
    anew: n => {
      n.slot = { phase: 'empty', act: '', losses: 0 }
      n.sends = 0
    },
    giveUp: n => step(n, { type: 'discard' }),
    /** What the discard endpoint said. */
    learn: (n, data) => step(n, { type: 'unknown', token: n.slot.token, data }),
    at: n => n.slot.phase
  }
}

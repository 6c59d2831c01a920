// The same action, with what goes wrong around the guard: a proxy that cuts the header, a session
// that has ended, a context that the action itself changes, a run without a record, retention.
// Can the action run under one token and again under another, although no answer entitled the
// person to begin anew?
import { client } from './client.mjs'
import { explore, mover } from './explore.mjs'

/**
 * @param {{next: Function}} subject
 * @param {object} faults strip · before · context · bare · evict: each happens at most once
 * @param {object} [rules] of the server, all true unless said: lookFirst: the record is looked up
 *   before the binding is judged · horizon: no `dead` where no record proves nothing
 * @param {object} [person] abandon: gives up what is not known
 * @param {number} [most] states
 */
export const faults = (subject, faults, rules = {}, person = {}, most = 3e6) => {
  const { lookFirst = true, horizon = true } = rules
  const c = client(subject, { tokens: 2, attempts: 3 })
  const token = () => ({ record: 'none', aged: false, old: false, runs: 0, bare: false })
  const start = { ...c.start, resent: 0, lost: 0, fault: 0, anew: 0, heard: '', moved: false, degraded: false, server: { 1: token(), 2: token() } }

  const judge = (n, m) => {
    const t = n.server[m.tok]
    const foreign = n.moved && m.tok === 1
    const known = { running: 'in-flight', done: 'replayed' }[t.record]
    let word
    if (foreign && !lookFirst) word = 'foreign'
    else if (known) word = known
    else if (t.record === 'buried') word = 'dead'
    else if (horizon && t.aged && (t.old || n.degraded)) word = 'forgotten'
    else if (foreign) word = 'foreign'
    else if (t.aged) {
      t.record = 'buried'
      word = 'dead'
    }
    if (word) n.answers.push({ id: m.id, tok: m.tok, word })
    else Object.assign(t, { record: 'running', by: m.id })
  }
  const discard = t => {
    if (t.record === 'none' && !(t.aged && t.old)) t.record = 'buried'
    return t.record === 'buried' ? { verdict: 'dead' } : { state: { done: 'succeeded', running: 'processing', none: 'absent' }[t.record] }
  }
  const moves = s => {
    const { list, move } = mover(s)
    const phase = c.at(s)
    const once = (allowed, word, change) => allowed && s.fault < 1 && move(word, n => {
      n.fault++
      return change(n)
    })
    if (phase === 'empty' && !s.waiting) move('the person asks for it', c.press)
    if (s.slot.due && ['unknown', 'waiting'].includes(phase)) move('the wait is over', c.go)
    if (['unknown', 'ready'].includes(phase)) move('the person presses again', c.press)
    // `forgotten` tells nobody that it was refused: who begins anew then knows what he risks.
    if (phase === 'rejected' && s.heard !== 'forgotten' && s.anew < 1) {
      move('the person, told that it was refused, does it again on a page shown anew', n => {
        n.anew++
        c.anew(n)
        return c.press(n)
      })
    }
    if (person.abandon && ['unknown', 'stuck', 'ready'].includes(phase) && s.anew < 1) {
      move(`the person gives T${s.tok} up`, n => {
        n.anew++
        c.giveUp(n)
        if (c.at(n) !== 'empty') {
          const said = discard(n.server[n.tok])
          c.learn(n, n.degraded ? { state: 'absent' } : said)
          if (said.state || n.degraded) return true // whatever it learns, it does not begin anew
        }
        n.sends = 0
        return c.press(n)
      })
    }
    if (phase === 'sent' && s.current) move('no answer in time', c.lose)
    s.net.forEach((m, i) => {
      const t = s.server[m.tok]
      if (s.resent < 1) {
        move(`the browser resends T${m.tok}`, n => {
          n.resent++
          n.net.push({ ...m })
        })
      }
      const answer = word => n => {
        n.net.splice(i, 1)
        n.answers.push({ id: m.id, tok: m.tok, word })
      }
      once(faults.strip, `a proxy cuts the header of a copy of T${m.tok}`, answer('missing'))
      once(faults.before, `the session has ended: a 401 from before the guard to T${m.tok}`, answer('401'))
      once(faults.bare && t.record === 'none' && !t.aged, `T${m.tok} runs without a record (store down and open, or the mode is off)`, n => {
        n.server[m.tok].runs++
        n.server[m.tok].bare = n.degraded = true
        return answer('ok')(n)
      })
      move(`the server gets T${m.tok}`, n => {
        n.net.splice(i, 1)
        judge(n, m)
      })
    })
    for (const k of [1, 2].filter(k => s.server[k].record === 'running')) {
      move(`T${k} has run`, n => {
        const t = n.server[k]
        t.runs++
        t.record = 'done'
        if (k === 1 && faults.context) n.moved = true
        n.answers.push({ id: t.by, tok: k, word: 'ok' })
      })
    }
    const one = s.server[1]
    if (!one.aged) move('T1 expires', n => { n.server[1].aged = true })
    if (faults.evict && one.aged && !one.old) {
      move('the retention of T1 is over', n => {
        n.server[1].old = true
        if (n.server[1].record === 'done') n.server[1].record = 'none'
      })
    }
    s.answers.forEach((a, i) => {
      if (s.lost < 1) {
        move(`the answer ${a.word} is lost`, n => {
          n.lost++
          n.answers.splice(i, 1)
        })
      }
      if (a.id === s.current && phase === 'sent') {
        move(`the client hears ${a.word} of T${a.tok}`, n => {
          n.answers.splice(i, 1)
          n.heard = a.word === 'forgotten' ? a.word : ''
          return c.hear(n, a.word)
        })
      }
    })
    return list
  }
  const bad = s => s.server[1].runs && s.server[2].runs ? 'it ran under T1 and again under T2'
    : Object.values(s.server).some(t => t.runs > 1 && !t.bare) ? 'one token ran twice under a healthy store' : ''
  return explore(start, moves, bad, most)
}

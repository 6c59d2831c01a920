// One action, end to end: a person, idem.js, a browser that resends below JavaScript, a wire that
// loses, and the server. Can the action run twice although the person asked for it once?
import { client } from './client.mjs'
import { explore, mover } from './explore.mjs'

/**
 * @param {{next: Function}} subject
 * @param {object} [world] what the surroundings do, each false or absent unless said:
 *   unwritten: the slot is not written down · expiryFirst: the server looks at the token's age
 *   before it looks for a record · short: records live shorter than tokens · evict: they vanish
 *   once the token has expired · late: a `dead` after that comes behind the deadline · once: the
 *   browser resends nothing · badRelease: a handler that ran says that it did not
 * @param {number} [attempts] how often each token is sent at most
 */
export const wire = (subject, world = {}, attempts = 3) => {
  const c = client(subject, { tokens: 3, attempts })
  const tokens = [1, 2, 3]
  const start = {
    ...c.start, runs: 0, again: 0, reloads: 0, resent: 0, lost: 0, released: 0, evicted: 0, aged: 0,
    server: Object.fromEntries(tokens.map(k => [k, { record: 'none', old: false }]))
  }
  const judge = (n, m) => {
    const t = n.server[m.tok]
    const known = { running: 'in-flight', done: 'replayed', buried: 'dead' }[t.record]
    const verdict = world.expiryFirst ? (t.old ? 'dead' : known) : known ?? (t.old ? 'dead' : undefined)
    if (verdict) n.answers.push({ id: m.id, tok: m.tok, word: verdict })
    else Object.assign(t, { record: 'running', by: m.id })
  }
  const moves = s => {
    const { list, move } = mover(s)
    const phase = c.at(s)
    if (['empty', 'fresh'].includes(phase) && !s.waiting && s.reloads <= 1 && !s.runs) move('the person asks for it', c.press)
    if (s.slot.due && ['unknown', 'waiting'].includes(phase)) move('the wait is over', c.go)
    if (['unknown', 'stuck', 'ready', 'waiting'].includes(phase) && s.again < 1) {
      move('the person presses again', n => {
        n.again++
        return c.press(n)
      })
    }
    if (phase === 'sent' && s.current) move('no answer in time', c.lose)
    if (s.reloads < 1 && ['sent', 'unknown', 'waiting', 'stuck'].includes(phase)) {
      move('the page is reloaded and the person asks again', n => {
        n.reloads++
        c.reload(n, !world.unwritten)
        return c.press(n)
      })
    }
    s.net.forEach((m, i) => {
      if (!world.once && s.resent < 1) {
        move(`the browser resends T${m.tok}`, n => {
          n.resent++
          n.net.push({ ...m })
        })
      }
      if (s.lost < 1) {
        move(`a request with T${m.tok} is lost`, n => {
          n.lost++
          n.net.splice(i, 1)
        })
      }
      move(`the server gets T${m.tok}`, n => {
        n.net.splice(i, 1)
        judge(n, m)
      })
    })
    for (const k of tokens.filter(k => s.server[k].record === 'running')) {
      const end = (n, record, word) => {
        n.answers.push({ id: n.server[k].by, tok: k, word })
        n.server[k].record = record
      }
      move(`T${k} has run`, n => {
        n.runs++
        end(n, 'done', 'ok')
      })
      if (s.released < 1) {
        move(`T${k} is refused and released${world.badRelease ? ', after it ran' : ''}`, n => {
          n.released++
          if (world.badRelease) n.runs++
          end(n, 'none', 'released')
        })
      }
    }
    for (const k of [1, 2]) {
      if (!s.server[k].old && s.aged < 1) {
        move(`T${k} expires`, n => {
          n.aged++
          n.server[k].old = true
        })
      }
      if (s.server[k].record === 'done' && s.evicted < 1 && (world.short || world.evict && s.server[k].old)) {
        move(`the record of T${k} is gone`, n => {
          n.evicted++
          n.server[k].record = 'none'
        })
      }
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
          return c.hear(n, a.word, a.word === 'dead' && world.late && s.evicted > 0)
        })
      }
    })
    return list
  }
  return explore(start, moves, s => s.runs > 1 ? 'the action ran twice' : '')
}

// Every rule's breakage: a place in idem.js and what is put there instead. The rule's test must
// then fail, or the model that runs the copy must find two runs.
import { readFileSync } from 'node:fs'

const source = readFileSync(new URL('../idem.js', import.meta.url), 'utf8')

/** @type {Record<string, [string, string]>} name → [what stands in idem.js, what breaks the rule] */
export const breakages = {
  'C1 a token serves two actions': [
    "({ phase: 'empty', act, begun: s.begun, losses: 0, ...more })",
    "({ ...s, phase: 'fresh', first: 0, act, losses: 0, ...more })"
  ],
  'C2 a sent token goes back to the pool': [
    "return to('ready')\n    case 'in-flight'",
    "return to('fresh', 'ready', { first: 0 })\n    case 'in-flight'"
  ],
  'C3 an automatic resend takes another token': [
    '{ lost: s.lost || lost, losses, due }',
    "{ lost: s.lost || lost, losses, due, token: '', first: 0 }"
  ],
  'C4 a dead token is swapped after an unknown attempt': ['if (s.lost || !timely(s.first)) return stuck', 'if (!timely(s.first)) return stuck'],
  'C4 a dead token is swapped however late': ['if (s.lost || !timely(s.first)) return stuck', 'if (s.lost) return stuck'],
  'C4 a dead token is swapped again and again': ['return s.swapped || s.degraded', 'return s.degraded'],
  'C5 written down after it was sent': ['if (s.first) bag[place.key] =', "if (s.first && s.phase !== 'sent') bag[place.key] ="],
  'C5 removed in a catch': ['e = { cause }\n', 'e = { cause }\n        delete bag[place.key]\n        place.s = { ...place.s, first: 0 }\n'],
  'C6 two at once': ['if ((init.at ?? 9e9) < place.end)', 'if (init.at < place.end)'],
  'C6 any body joins': ['if (await print(last) !== await print(job))', 'if (!print)'],
  'C7 an abort is an answer': ["step(place, { type: 'status' })\n", ''],
  'C8 a stream is sent again': ["e.once || s.degraded || losses", 's.degraded || losses'],
  'C9 attempts without end': ['losses >= e.tries || ', ''],
  'C9 no deadline': ['|| !timely(s.begun, now + due)', ''],
  'C9 longer than the server remembers': ['Math.min(e.max, s.retain * 900 || e.max)', 'e.max'],
  'C10 any answer settles': ["return res.ok && !res.redirected ? over('settle') : to('ready')", "return over('settle')"],
  'C10 a page redirected to settles': ["return res.ok && !res.redirected ? over('settle') : to('ready')", "return res.ok ? over('settle') : to('ready')"],
  'C10 a 500 without a verdict settles': ["if (silent) return again('unknown')", "if (!res) return again('unknown')"],
  'C11 the clock swaps a sent token': ['if (!s.first && !(s.token', 'if (!(s.token'],
  'C12 a second press takes a new token': [
    's = { ...s, losses: 0, begun: now }',
    "s = { ...(s.lost ? { ...s, phase: 'empty', token: '', first: 0, lost: 0 } : s), losses: 0, begun: now }"
  ],
  'C13 an old gesture begins a new action': ['if ((init.at ?? 9e9) < place.end)', 'if (9e9 < place.end)'],
  'C13 an old gesture of a form begins a new action': ["(at) < here.end ? '' : ", '(at) && '],
  'C13 settled by asking, an older gesture begins a new action': ['if (place.end < 9e9) place.end = performance.now()', ''],
  'C14 a degraded token is sent again by itself': ['e.once || s.degraded || losses', 'e.once || losses'],
  'C14 an unprotected run is sent again by itself': ["    case 'unprotected':\n", ''],
  'T3 missing swaps a token that was sent': ["if (s.token) return to('ready', 'rejected')", ''],
  'T3 any refusal swaps': ["case 'dead':\n", "case 'dead':\n    case 'forgotten':\n    case 'foreign':\n"],
  'T4 a plain 425 is taken for dead': ['switch (verdict) {', "switch (verdict || res?.status === 425 && 'dead') {"],

  // The numbered statements of the tests of their names, where no rule above is the statement.
  'N1 each prefetch asks for itself': ['place.asked ||= ', 'place.asked = '],
  'N2 a token is sent to the last second of its life': ['s.expiresIn * 900)', 's.expiresIn * 1e3)'],
  'N3 a clock that went backwards is believed': ['s.got <= now && ', ''],
  'N4 the token endpoint is asked once': ["return silent ? again('fetching', 1, over('issue')) : over('issue')", "return over('issue')"],
  'N5 a refusal of a token is no answer': ["return silent ? again('fetching', 1, over('issue')) : over('issue')", "return again('fetching', 1, over('issue'))"],
  'N6 the record stays': ['delete bag[place.key]', ''],
  'N7 Retry-After is not read': ['Math.min(e.after > 0 ? e.after : 0, e.max / 2)', '0'],
  'N8 Retry-After has no limit': ['Math.min(e.after > 0 ? e.after : 0, e.max / 2)', '(e.after > 0 ? e.after : 0)'],
  'N9 a replay is no news': ["    case 'used':\n      return over(verdict)", "      return over('settle')\n    case 'used':\n      return over(verdict)"],
  'N10 an answer that was not kept is handed out as one': ["    case 'used':\n      return over(verdict)", "      return over(verdict)\n    case 'used':\n      return over('settle')"],
  'N11 dead ends the action': ["over('swap', { phase: 'fetching', swapped: 1 })", "over('rejected', { phase: 'rejected' })"],
  'N14 a header that was cut gets a new token': ["if (s.token) return to('ready', 'rejected')", ''],
  'N15 early data is an answer': ['/408|42[59]|5../', '/408|429|5../'],
  'N16 a refusal after an unknown attempt ends the action': ["return s.lost ? stuck : over(verdict, { phase: 'rejected' })", "return over(verdict, { phase: 'rejected' })"],
  'N17 a refusal without effect spends the token': ["case 'released':\n      return to('ready')", "case 'released':\n      return over('settle')"],
  'N18 everybody comes back at once': ['e.rnd * (now - s.begun + 500)', '(now - s.begun + 502)'],
  'N20 an abort waits for the wait': ["signal?.addEventListener('abort', no)", ''],
  'N21 an abort is told as something else': ['throw signal.reason', 'break'],
  'N23 the body is read by the first attempt': ['send(req, { body: await body, ', 'send(req, { '],
  'N24 files are read by the first attempt': ['send(req, { body: await body, ', 'send(req, { '],
  'N25 only one can read the answer': ['(await job.done).clone()', '(await job.done)'],
  'N27 all contexts are one slot': ["[owner, operation, context]", '[owner, operation]'],
  'N28 a storage that throws is the end': ['} catch {}\n    place.s = s', '} catch (e) { throw e }\n    place.s = s'],
  'N32 what the status endpoint says is not heard': ["? 'failed' : data?.state", "? 'failed' : ''"],
  'N42 Retry-After of an outage is not read': ['Math.min(e.after > 0 ? e.after : 0, e.max / 2)', '0'],
  'N44 being told to wait counts as no answer': ["return again('waiting', 0)", "return again('waiting')"],
  'N46 any answer ends the action': ["return res.ok && !res.redirected ? over('settle') : to('ready')", "return over('settle')"],
  'N47 whatever the discard endpoint says frees the slot': ["data?.verdict === 'dead' ? 'failed' : data?.state", "data ? 'failed' : ''"],
  'N48 every login is the same': ['owner = owner * 31 + c.charCodeAt(0) | 0', 'owner = 0']
}

// For the models only: what an earlier draft, or a hurried client, would do.
export const drafts = {
  'naive: any 425 is a reason to take a new token': [
    'switch (verdict) {',
    "if (['in-flight', 'used', 'replayed', 'dead'].includes(verdict)) return over('swap', { phase: 'fetching' })\n  switch (verdict) {"
  ],
  'a refusal without a verdict ends the action': [
    "return res.ok && !res.redirected ? over('settle') : to('ready')",
    "return res.ok && !res.redirected ? over('settle') : over('rejected', { phase: 'rejected' })"
  ],
  'abandon does not ask': ["if (!s.first) return over('')", "return over('')"]
}

/** Imports idem.js with one breakage; an unknown name, or one whose place is gone, is an error. */
export const broken = async name => {
  const patch = breakages[name] ?? drafts[name]
  if (!patch) throw new Error(`there is no breakage "${name}"`)
  if (source.split(patch[0]).length !== 2) throw new Error(`"${name}": its place stands ${source.split(patch[0]).length - 1} times in idem.js`)
  return import('data:text/javascript,' + encodeURIComponent(source.replace(patch[0], () => patch[1])))
}

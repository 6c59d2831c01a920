// What the models are asked, and what they must answer: the rules are safe, and each rule left
// out, in idem.js or in the server, gives a history in which the action runs twice.
import { broken } from '../broken.mjs'
import { faults } from './faults.mjs'
import { wire } from './wire.mjs'

const ours = await import('../../idem.js')
const every = { strip: true, before: true, context: true, evict: true, bare: true }
const patched = name => async (model, ...rest) => model(await broken(name), ...rest)
const whole = async (model, ...rest) => model(ours, ...rest)

const swapsAfterUnknown = patched('C4 a dead token is swapped after an unknown attempt')
const swapsLate = patched('C4 a dead token is swapped however late')

/** [name, safe?, run, long?]: long ones are for `npm run drill`. */
export const cases = [
  ['the rules, every token sent twice at most', true, () => whole(wire, {}, 2)],
  ['the rules', true, () => whole(wire), true],
  ['the rules, records that outlive their token a little, no resend by the browser', true, () => whole(wire, { evict: true, once: true })],
  ['the rules, records that outlive their token a little, a dead behind the deadline', true, () => whole(wire, { evict: true, late: true }), true],
  ['records that outlive their token a little, outlived by a resend (T1 b is for this)', false, () => whole(wire, { evict: true })],
  ['records that live shorter than their token (T2)', false, () => whole(wire, { short: true })],
  ['a server that looks at the token’s age before it looks for its record (T1)', false, () => whole(wire, { expiryFirst: true })],
  ['a handler that ran and says that it did not', false, () => whole(wire, { badRelease: true })],
  ['a slot that is not written down (C5)', false, () => whole(wire, { unwritten: true })],
  ['a client that takes a new token on any 425 (T3)', false, () => patched('naive: any 425 is a reason to take a new token')(wire)],
  ['a client whose resend takes another token (C3)', false, () => patched('C3 an automatic resend takes another token')(wire)],
  ['a client whose second press takes another token (C12)', false, () => patched('C12 a second press takes a new token')(wire)],
  ['a client that swaps after an unknown attempt (C4)', false, () => swapsAfterUnknown(wire, { evict: true, once: true })],
  ['a client that swaps after an unknown attempt, at a server that looks at age first (C4)', false, () => swapsAfterUnknown(wire, { expiryFirst: true, once: true })],
  ['a client that swaps however late (C4)', false, () => swapsLate(wire, { evict: true, late: true })],

  ['the rules, nothing wrong around the guard', true, () => whole(faults, {})],
  ['the rules, a context that the action changes', true, () => whole(faults, { context: true })],
  ['the rules, a copy that loses its header', true, () => whole(faults, { strip: true }), true],
  ['the rules, a 401 from before the guard', true, () => whole(faults, { before: true }), true],
  ['the rules, retention', true, () => whole(faults, { evict: true }), true],
  ['the rules, a run without a record', true, () => whole(faults, { bare: true }), true],
  ['the rules, every fault', true, () => whole(faults, every), true],
  ['the rules, every fault, and a person who gives up', true, () => whole(faults, every, {}, { abandon: true }), true],
  ['a server that judges the binding before it looks for the record', false, () => whole(faults, every, { lookFirst: false })],
  ['a server that says dead where no record proves nothing (T1 b)', false, () => whole(faults, every, { horizon: false })],
  ['a client that takes a 401 for the end (C10)', false, () => patched('a refusal without a verdict ends the action')(faults, { before: true })],
  ['a client that swaps on missing (T3)', false, () => patched('T3 missing swaps a token that was sent')(faults, { strip: true })],
  ['a client that gives up without asking', false, () => patched('abandon does not ask')(faults, {}, {}, { abandon: true })],
  ['a client that swaps after an unknown attempt, at a server without T1 b (C4)', false, () => swapsAfterUnknown(faults, { evict: true }, { horizon: false })]
]

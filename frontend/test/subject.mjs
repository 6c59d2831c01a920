// The idem.js under test: the source itself, or a copy with one rule broken when IDEM_BROKEN
// names one (npm run broken), so that a rule's test can be seen to fail.
import { broken } from './broken.mjs'

const rule = process.env.IDEM_BROKEN
export const { createIdem, IdemError, next } = rule ? await broken(rule) : await import('../idem.js')

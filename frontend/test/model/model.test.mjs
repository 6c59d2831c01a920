// Statement 30 of FRONTEND section 5, in the time a test suite has; `npm run drill` does it whole.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { cases } from './cases.mjs'

for (const [name, safe, run, long] of cases) {
  if (long) continue
  test(`N30 ${safe ? 'safe' : 'runs twice'}: ${name}`, async t => {
    const found = await run()
    t.diagnostic(`${found.states} states${found.bad ? `: ${found.history.join(' > ')}` : ''}`)
    if (safe) assert.deepEqual([found.bad, found.whole], [undefined, true], found.history?.join(' > '))
    else assert.ok(found.bad, `no history of ${found.states} states runs twice: the model cannot fail`)
  })
}

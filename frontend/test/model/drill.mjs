// Every case of the models, whole: some minutes. Exits 1 if one is not as it must be.
import { cases } from './cases.mjs'

let passed = 0, failed = 0
for (const [name, safe, run] of cases) {
  const begun = Date.now()
  const found = await run()
  const right = safe ? !found.bad : Boolean(found.bad)
  right ? passed++ : failed++
  const words = found.bad ? 'runs twice' : found.whole ? 'safe' : 'safe so far'
  console.log(`${right ? 'ok    ' : 'NOT OK'} ${words}: ${name} (${found.states} states, ${((Date.now() - begun) / 1000).toFixed(1)} s)`)
  if (found.bad) console.log('         ' + found.history.join('\n         '))
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed ? 1 : 0)

// Breaks each rule of idem.js alone and expects the tests that carry its name to fail, and to
// pass unbroken: a test that cannot fail proves nothing. `npm run broken -- C4` does one rule.
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { breakages } from '../test/broken.mjs'

const bad = []
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const run = (rule, name) => {
  const env = { ...process.env, IDEM_BROKEN: name ?? '' }
  delete env.NODE_TEST_CONTEXT
  const { stdout, status, error } = spawnSync(process.execPath, [
    '--test', '--test-reporter=tap', `--test-name-pattern=/^${rule} /`, ...['rules', 'next', 'presses', 'tokens', 'verdicts'].map(name => `test/${name}.test.mjs`)
  ], { cwd: root, env, encoding: 'utf8', timeout: 300e3 })
  if (error) bad.push(`${name ?? rule}: its tests did not end: break it so that they fail (${error.message})`)
  return { status, ran: stdout.split('\n').filter(line => new RegExp(`^\\s*(not )?ok \\d+ - ${rule} `).test(line) && !/# SKIP/.test(line)) }
}

const only = process.argv[2]
const names = Object.keys(breakages).filter(name => !only || name.split(' ')[0] === only)
let passed = 0
for (const rule of new Set(names.map(name => name.split(' ')[0]))) {
  const whole = run(rule)
  if (whole.status !== 0 || whole.ran.length === 0) bad.push(`${rule}: its tests do not pass unbroken (${whole.ran.length} ran)`)
  for (const name of names.filter(name => name.split(' ')[0] === rule)) {
    const { status, ran } = run(rule, name)
    const failed = ran.filter(line => /^\s*not ok/.test(line)).length
    if (status === 0 || failed === 0) bad.push(`${name}: no test failed (${ran.length} ran)`)
    else passed++
    console.log(`${failed ? 'seen to fail' : 'NOT SEEN'}  ${name}`)
  }
}
for (const line of bad) console.error(line)
console.log(`${passed} passed, ${bad.length} failed`)
process.exit(bad.length ? 1 : 0)

// Runs the tests that need no browser, and fails when less than 95 % of the lines or branches of
// idem.js were run.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const least = 95
const files = ['test', 'test/model'].flatMap(dir =>
  readdirSync(join(root, dir)).filter(f => f.endsWith('.test.mjs')).map(f => join(dir, f)))
const out = mkdtempSync(join(tmpdir(), 'idem-cover-'))
try {
  const { status } = spawnSync(process.execPath, [
    '--test', '--test-concurrency=2', '--experimental-test-coverage',
    '--test-reporter=spec', '--test-reporter-destination=stdout',
    '--test-reporter=lcov', '--test-reporter-destination=' + join(out, 'lcov'), ...files
  ], { cwd: root, stdio: 'inherit' })
  if (status) process.exit(status)

  const report = readFileSync(join(out, 'lcov'), 'utf8').split('end_of_record').find(r => /^SF:(.*[\\/])?idem\.js$/m.test(r))
  if (!report) throw new Error('idem.js is not in the coverage report')
  const count = name => Number(report.match(new RegExp(`^${name}:(\\d+)$`, 'm'))[1])
  for (const [what, hit, found] of [['lines', 'LH', 'LF'], ['branches', 'BRH', 'BRF']]) {
    const share = 100 * count(hit) / count(found)
    console.log(`idem.js: ${share.toFixed(1)} % of ${what} (${count(hit)} of ${count(found)}), at least ${least} %`)
    if (share < least) process.exitCode = 1
  }
} finally {
  rmSync(out, { recursive: true })
}

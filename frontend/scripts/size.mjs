// Fails when a built file is larger than its budget (gzip, bytes).
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const budgets = {
  'idem.core.min.js': 2200, 'idem.min.js': 3000, 'idem.status.min.js': 1500, 'idem.batch.min.js': 600,
  'idem.htmx.min.js': 600, 'idem.htmx2.min.js': 600, 'idem.turbo.min.js': 600, 'idem.axios.min.js': 600
}
for (const [file, most] of Object.entries(budgets)) {
  const size = gzipSync(readFileSync(new URL('../dist/' + file, import.meta.url)), { level: 9 }).length
  console.log(`${file}: ${size} of ${most} bytes gzip`)
  if (size > most) process.exitCode = 1
}

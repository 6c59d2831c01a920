// Prints the integrity value of each built file (W3C Subresource Integrity), for a page that
// loads it from a CDN; a Go program has them from frontend.Tag.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'

const dist = new URL('../dist/', import.meta.url)
for (const file of readdirSync(dist).filter(f => f.endsWith('.min.js')).sort()) {
  console.log(file.padEnd(20), 'sha384-' + createHash('sha384').update(readFileSync(new URL(file, dist))).digest('base64'))
}

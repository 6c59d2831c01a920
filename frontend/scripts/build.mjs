// Builds dist/ from the three sources; with --compare it writes nothing and fails where what is
// committed differs from what the sources give.
import { build } from 'esbuild'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const names = JSON.parse(readFileSync(join(root, 'scripts/names.json'), 'utf8'))

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  target: 'es2022',
  legalComments: 'none',
  // The slot's own fields get one letter each, always the same one: records that an older
  // version wrote into somebody's tab are read by the newer one.
  mangleProps: new RegExp(`^(${Object.keys(names).join('|')})$`),
  mangleCache: names,
  write: false
}

const built = {}
const page = await build({ ...shared, entryPoints: ['auto.js'], format: 'iife' })
built['idem.min.js'] = page.outputFiles[0].text
// The core alone, for bundlers and import maps. next is the tests' business, not its users'.
const core = await build({
  ...shared, format: 'esm',
  stdin: { contents: "export { createIdem, IdemError } from './idem.js'", resolveDir: root }
})
built['idem.core.min.js'] = core.outputFiles[0].text

const types = mkdtempSync(join(tmpdir(), 'idem-types-'))
try {
  execFileSync(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'), '--project', join(root, 'tsconfig.json'),
    '--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', types
  ], { stdio: 'inherit' })
  for (const file of ['idem.d.ts', 'form.d.ts']) built['types/' + file] = readFileSync(join(types, file), 'utf8')
} finally {
  rmSync(types, { recursive: true })
}

if (process.argv.includes('--compare')) {
  const committed = readdirSync(join(root, 'dist'), { recursive: true }).filter(f => /\.\w+$/.test(f)).sort()
  const bad = Object.keys(built).filter(file => {
    try {
      return readFileSync(join(root, 'dist', file), 'utf8') !== built[file]
    } catch {
      return true
    }
  }).concat(committed.filter(file => !(file in built)))
  if (bad.length) {
    console.error(`dist/ is not what the sources give (${bad.join(', ')}): run "npm run build" and commit it`)
    process.exit(1)
  }
  console.log('dist/ is what the sources give')
} else {
  mkdirSync(join(root, 'dist/types'), { recursive: true })
  for (const file in built) writeFileSync(join(root, 'dist', file), built[file])
}

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

// form.js, auto.js and the adapters ask for '#idem'. For the page's own file that is the source;
// the files beside it use the one that the page has loaded.
const from = (contents, loader = { loader: 'js', resolveDir: root }) => ({
  name: 'idem',
  setup(on) {
    on.onResolve({ filter: /^#idem$/ }, () => ({ path: 'idem', namespace: 'idem' }))
    on.onLoad({ filter: /.*/, namespace: 'idem' }, () => ({ contents, ...loader }))
  }
})
const built = {}
const page = await build({ ...shared, entryPoints: ['auto.js'], format: 'iife', plugins: [from("export * from './idem.js'")] })
built['idem.min.js'] = page.outputFiles[0].text
// The core alone, for bundlers and import maps. next is the tests' business, not its users'.
const core = await build({
  ...shared, format: 'esm',
  stdin: { contents: "export { createIdem, IdemError } from './idem.js'", resolveDir: root }
})
built['idem.core.min.js'] = core.outputFiles[0].text

const beside = {
  htmx: "import './adapters/htmx.js'",
  htmx2: "import './adapters/htmx2.js'",
  turbo: "import './adapters/turbo.js'",
  axios: "import { guard } from './adapters/axios.js'; self.idem.guardAxios = guard",
  status: "import { followAll, say, texts } from './idem-status.js'; self.idem = { ...self.idem, say, texts }; followAll()",
  batch: "import { batched } from './batch.js'; self.idem = { fetch: batched(), batched, ...self.idem }"
}
for (const [name, contents] of Object.entries(beside)) {
  const { outputFiles } = await build({
    ...shared, mangleProps: undefined, mangleCache: undefined, format: 'iife', charset: 'utf8',
    stdin: { contents, resolveDir: root }, plugins: [from('export const createIdem = idem.createIdem')]
  })
  built[`idem.${name}.min.js`] = outputFiles[0].text
}

const types = mkdtempSync(join(tmpdir(), 'idem-types-'))
try {
  execFileSync(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'), '--project', join(root, 'tsconfig.json'),
    '--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', types
  ], { stdio: 'inherit' })
  for (const file of ['idem', 'form', 'auto', 'batch', 'idem-status', 'adapters/htmx', 'adapters/htmx2', 'adapters/turbo', 'adapters/axios']) {
    built[`types/${file}.d.ts`] = readFileSync(join(types, file + '.d.ts'), 'utf8')
  }
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
  mkdirSync(join(root, 'dist/types/adapters'), { recursive: true })
  for (const file in built) writeFileSync(join(root, 'dist', file), built[file])
}

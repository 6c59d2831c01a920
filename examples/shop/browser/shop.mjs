// A real Chromium and a real server for the tests beside this file. They need Go, Node.js with
// `npm ci` done in frontend/, and Chromium (apt-get install -y chromium, or CHROMIUM=path):
//
//     node --test --test-concurrency=1 examples/shop/browser/*.test.mjs
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../..', import.meta.url))
const { chromium } = createRequire(join(root, 'frontend/package.json'))('playwright-core')
const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

/** Waits, a minute at most, until something is so. */
export async function until(so, what = String(so), limit = 60e3) {
  for (const end = Date.now() + limit; Date.now() < end; await new Promise(go => setTimeout(go, 25))) {
    const value = await so()
    if (value) return value
  }
  throw new Error('it did not come to be: ' + what)
}

/** Builds a program of this repository, to be removed with the test file; gives its path. */
export function build(pkg) {
  const dir = mkdtempSync(join(tmpdir(), 'idem-browser-'))
  after(() => rmSync(dir, { recursive: true, force: true }))
  const program = join(dir, 'program')
  execFileSync('go', ['build', '-o', program, pkg], { cwd: root, stdio: 'inherit' })
  return program
}

/** Starts a server that says "listening on ADDRESS" first; gives its address and its end. */
export async function serve(program, ...args) {
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise(done => server.once('exit', done))
  const stop = () => {
    server.kill('SIGTERM')
    return ended
  }
  const first = await new Promise((done, fail) => {
    createInterface({ input: server.stdout }).once('line', done)
    server.once('exit', code => fail(new Error(`the server ended with ${code} before it listened`)))
  })
  const url = /^listening on (\S+)/.exec(first)?.[1]
  if (!url) throw new Error('the server said ' + first)
  server.stdout.resume() // what else it says is for people
  return { url, stop }
}

/**
 * Registers the browser tests of one file: run(name, async ({page, context, url, troubles}) => …), each
 * with a person of its own. One server is started for the file by open().
 */
export function suite(open) {
  let browser, server
  before(async () => {
    if (!executablePath) throw new Error('no Chromium found: apt-get install -y chromium, or set CHROMIUM')
    server = await open()
    browser = await chromium.launch({
      executablePath,
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
      args: [
        '--headless', '--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync',
        '--no-first-run', '--disable-quic', '--disable-gpu'
      ]
    })
  })
  after(async () => {
    await browser?.close()
    await server?.stop()
  })
  return (name, statement, options = {}) => test(name, { timeout: 180e3 }, async () => {
    const context = await browser.newContext(options)
    try {
      const page = await context.newPage()
      const troubles = []
      page.on('pageerror', err => troubles.push(String(err)))
      page.on('console', m => /Content Security Policy|Trusted/i.test(m.text()) && troubles.push(m.text()))
      await statement({ page, context, url: server.url, troubles })
      if (troubles.length) throw new Error('the page is in trouble: ' + troubles.join('; '))
    } finally {
      await context.close()
    }
  })
}

/** What stands in the shop's own tables of the person whose page it is. */
export async function tables(page, url) {
  const { orders, log } = await (await page.request.get(url + '/tables')).json()
  return { orders: orders.filter(o => o.yours), requests: log.filter(line => line.yours).map(line => line.word).reverse() }
}

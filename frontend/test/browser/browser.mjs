// A Chromium for a test file, and a page with a shop of its own for each test.
import { existsSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'
import { shop } from './server.mjs'

const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

/** A page that loads idem.min.js, with something in its body. */
export const html = (body = '', head = '') =>
  `<!doctype html><title>shop</title><script src="/idem.min.js" defer></script>${head}<body>${body}</body>`

/** Waits, half a minute at most, until something is so. */
export const until = async (so, what = String(so), limit = 30e3) => {
  for (const end = Date.now() + limit; Date.now() < end; await new Promise(yes => setTimeout(yes, 20))) {
    const value = await so()
    if (value) return value
  }
  throw new Error('it did not come to be: ' + what)
}

/** Registers browser tests of one file: run(name, async ({page, s}) => …, options of the shop). */
export const suite = () => {
  let browser
  before(async () => {
    if (!executablePath) throw new Error('no Chromium found: apt-get install -y chromium, or set CHROMIUM')
    browser = await chromium.launch({
      executablePath,
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
      args: [
        '--headless', '--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync',
        '--no-first-run', '--disable-quic', '--disable-gpu',
        '--host-resolver-rules=MAP shop.test 127.0.0.1' // a name that is not localhost: plain http there is an insecure origin
      ]
    })
  })
  after(() => browser?.close())
  return (name, statement) => test(name, { timeout: 180e3 }, async () => {
    const s = await shop()
    const context = await browser.newContext()
    const page = await context.newPage()
    const troubles = []
    page.on('pageerror', error => troubles.push(String(error)))
    page.on('console', m => /Content Security Policy|Trusted/i.test(m.text()) && troubles.push(m.text()))
    try {
      await statement({ page, s, context, troubles })
      if (troubles.length) throw new Error('the page is in trouble: ' + troubles.join('; '))
    } finally {
      await context.close()
      await s.close()
    }
  })
}

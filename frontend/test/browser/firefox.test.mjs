// Statements 31 and 35 of FRONTEND section 5 in Firefox, where there is one (apt-get install -y
// firefox-esr, or FIREFOX=path). It is started on a page that drives itself and reports.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { html, until } from './browser.mjs'
import { shop } from './server.mjs'

const firefox = process.env.FIREFOX ?? ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find(existsSync)
const prefs = {
  'browser.shell.checkDefaultBrowser': false, 'datareporting.policy.dataSubmissionEnabled': false, 'app.update.enabled': false,
  'browser.startup.homepage_override.mstone': 'ignore', 'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false, 'app.normandy.enabled': false, 'extensions.update.enabled': false,
  'browser.safebrowsing.malware.enabled': false, 'browser.safebrowsing.phishing.enabled': false, 'toolkit.telemetry.enabled': false
}

/** Opens the shop in a Firefox of its own until the page has reported. */
const run = (name, statement) => test(name, { skip: !firefox && 'Firefox is not installed: apt-get install -y firefox-esr', timeout: 180e3 }, async () => {
  const s = await shop()
  const profile = mkdtempSync(join(tmpdir(), 'idem-firefox-'))
  let browser
  try {
    writeFileSync(join(profile, 'user.js'), Object.entries(prefs).map(([key, value]) => `user_pref(${JSON.stringify(key)}, ${JSON.stringify(value)});\n`).join(''))
    await statement(s, async () => {
      browser = spawn(firefox, ['--headless', '--no-remote', '--profile', profile, s.url], { stdio: 'ignore', env: { ...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' } })
      await until(() => s.reports.length, 'the page reported', 120e3).catch(() => {})
      assert.equal(s.reports.length, 1, `no report: ${JSON.stringify(s.posts)}`)
      return s.reports[0]
    })
  } finally {
    if (browser && browser.exitCode === null) {
      const gone = new Promise(yes => browser.once('exit', yes))
      browser.kill()
      await gone
    }
    await s.close()
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
})
const report = "const report = data => fetch('/report', { method: 'POST', body: JSON.stringify(data) });"

run('B31 in Firefox: given a server that commits and then resets the reused connection, then it posts twice, it runs once, and the page has the replay', async (s, open) => {
  s.pages['/'] = html('', '<script src="/drive.js" defer></script>')
  s.plan = ['reset']
  s.scripts['/drive.js'] = report + `(async () => {
    const order = idem.createIdem({ operation: 'shop:order:create' })
    const heard = []
    for (const name of ['send', 'retry', 'replayed', 'settle']) order.events.addEventListener('idem:' + name, () => heard.push(name))
    await order.prefetch()
    const res = await order.fetch('/orders', { method: 'POST', body: new URLSearchParams({ qty: 2 }) })
    report([await res.text(), heard.at(-1)])
  })()`
  assert.deepEqual(await open(), ['order 1', 'replayed'])
  assert.ok(s.posts.length >= 2, `${s.posts.length} POSTs on the wire`)
  assert.deepEqual([new Set(s.posts.map(p => p.token)), s.orders.length], [new Set(['T1']), 1])
})

run('B35 in Firefox: given back without bfcache and an old hidden value, then it is corrected before the form goes', async (s, open) => {
  s.cache = 'max-age=600'
  s.next = '/done'
  s.pages['/'] = html(`<form method="post" action="/orders" id="order" data-idem="shop:order:create">
    <input type="hidden" name="idempotent-token" value="S1" autocomplete="off"><input name="qty" value="2"><button>Order</button></form>`, '<script src="/drive.js" defer></script>')
  s.pages['/done'] = html('<h1>done</h1>', '<script src="/done.js" defer></script>')
  s.scripts['/drive.js'] = `addEventListener('unload', () => {}) // keeps it out of the bfcache
    const press = () => document.querySelector('button').click()
    if (sessionStorage.went) {
      document.querySelector('[name=idempotent-token]').value = 'T1' // as it is restored
      const settled = setInterval(() => {
        if (Object.keys(sessionStorage).some(key => key.startsWith('idem:'))) return
        clearInterval(settled)
        press()
      }, 50)
    } else setTimeout(press, 100)`
  s.scripts['/done.js'] = report + `if (sessionStorage.went) report('done')
    else { sessionStorage.went = 1; setTimeout(() => history.back(), 100) }`
  assert.equal(await open(), 'done')
  assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1', 'T2'], 2])
})

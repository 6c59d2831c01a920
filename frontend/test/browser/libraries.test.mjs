// Statement 39 of FRONTEND section 5: the adapters, with the libraries themselves. Each answers
// the first request `in-flight`, and each is pressed three times.
import assert from 'node:assert/strict'
import { suite, until } from './browser.mjs'

const run = suite()
const mark = 'id="order" data-idem-op="shop:order:create" data-idem-context="cart:42"'
const field = '<input name="qty" value="2"><button>Order</button>'

/** A page with a library and its adapter. The libraries write styles and HTML, which the usual policy of these tests forbids. */
const page = (library, adapter, body) =>
  `<!doctype html><title>shop</title><meta name="htmx-config" content='{"includeIndicatorStyles":false}'>
   <script src="/${library}.js" defer></script><script src="/idem.min.js" defer></script><script src="/idem.${adapter}.min.js" defer></script>
   <body>${body}<div id="out"></div></body>`
const pages = {
  'htmx 2': page('htmx2', 'htmx2', `<form hx-post="/orders" hx-target="#out" ${mark}>${field}</form>`),
  'htmx 4': page('htmx', 'htmx', `<form hx-post="/orders" hx-target="#out" ${mark}>${field}</form>`),
  Turbo: page('turbo', 'turbo', `<form method="post" action="/orders" ${mark}>${field}</form>`)
}
const open = async (page, s, library) => {
  s.policy = ''
  s.pages['/'] = pages[library]
  s.pages['/done'] = '<!doctype html><title>done</title><body><h1>Thank you</h1></body>'
  if (library === 'Turbo') s.next = '/done'
  await page.goto(s.url)
  await page.waitForFunction(() => window.idem && (window.htmx || window.Turbo))
}
const shown = async (page, library) => library === 'Turbo'
  ? page.locator('h1').waitFor()
  : page.waitForFunction(() => document.getElementById('out').textContent === 'order 1')

for (const library of Object.keys(pages)) {
  run(`B39 given ${library} and a first answer that is in-flight, then the same token, and one run`, async ({ page, s }) => {
    await open(page, s, library)
    s.plan = ['in-flight']
    await page.locator('button').click()
    await shown(page, library)
    assert.deepEqual(s.posts.map(p => [p.token, p.fields.qty, p.status]), [['T1', '2', 'in-flight'], ['T1', '2', 'executed']])
    assert.equal(s.orders.length, 1)
  })

  run(`B39 given ${library} and three presses, then one POST, and one run`, async ({ page, s }) => {
    await open(page, s, library)
    const release = s.hold()
    await page.evaluate(async () => {
      for (let i = 0; i < 3; i++) {
        document.forms[0].requestSubmit()
        await new Promise(yes => setTimeout(yes, 100))
      }
    })
    release()
    await shown(page, library)
    await page.waitForTimeout(300) // what waits in the library's queue comes now
    assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1'], 1])
  })

  run(`B39 given ${library} and a lost answer, then the replay is shown; a press after that is an order of its own`, async ({ page, s }) => {
    await open(page, s, library)
    s.plan = ['reset', 'reset']
    await page.locator('button').click()
    await shown(page, library)
    assert.deepEqual([new Set(s.posts.map(p => p.token)), s.orders.length], [new Set(['T1']), 1])
    if (library === 'Turbo') await page.goto(s.url)
    await page.locator('button').click()
    await until(() => s.orders.length === 2, 'a second order')
    assert.equal(s.posts.at(-1).token, 'T2')
  })

  run(`B39 given ${library} and a reload in flight, then the page asks and settles it`, async ({ page, s }) => {
    await open(page, s, library)
    const release = s.hold()
    await page.locator('button').click({ noWaitAfter: true })
    await until(() => s.posts.length, 'the POST arrived')
    await page.goto(s.url)
    release()
    await until(async () => s.orders.length && !await page.evaluate(() => Object.keys(sessionStorage).some(k => k.startsWith('idem:'))), 'it is settled')
    assert.ok(s.asked.includes('status'))
    assert.deepEqual([s.posts.length, s.orders.length], [1, 1])
  })
}

run('B39 given axios and a first answer that is in-flight, then the same token, and one run', async ({ page, s }) => {
  s.policy = ''
  s.pages['/'] = `<!doctype html><title>shop</title><script src="/axios.js"></script><script src="/idem.min.js"></script><script src="/idem.axios.min.js"></script><body></body>`
  await page.goto(s.url)
  s.plan = ['in-flight']
  const texts = await page.evaluate(async () => {
    window.idem.guardAxios(window.axios)
    const press = () => window.axios.post('/orders', new URLSearchParams({ qty: 2 }), { idem: { operation: 'shop:order:create', context: 'cart:42', at: performance.now() } })
    const answers = await Promise.all([press(), press(), press()])
    const plain = await window.axios.get('/')
    return [...answers.map(a => [a.status, a.data]), plain.status]
  })
  assert.deepEqual(texts, [[201, 'order 1'], [201, 'order 1'], [201, 'order 1'], 200])
  assert.deepEqual(s.posts.map(p => [p.token, p.fields.qty, p.status]), [['T1', '2', 'in-flight'], ['T1', '2', 'executed']])
})

run('B39 given axios and no answer at all, then its error has the code `unknown`, and the next call sends the same token', async ({ page, s }) => {
  s.policy = ''
  s.pages['/'] = `<!doctype html><title>shop</title><script src="/axios.js"></script><script src="/idem.min.js"></script><script src="/idem.axios.min.js"></script><body></body>`
  await page.goto(s.url)
  s.plan = ['503', '503']
  const ends = await page.evaluate(async () => {
    window.idem.guardAxios(window.axios, { retries: 2 })
    const press = () => window.axios.patch('/orders', { qty: 2 }, { idem: { operation: 'shop:order:create' } }).then(a => a.status, e => [e.isAxiosError, e.code, e.response.status])
    return [await press(), await press()]
  })
  assert.deepEqual(ends, [[true, 'unknown', 503], 201])
  assert.deepEqual(new Set(s.posts.map(p => p.token)), new Set(['T1']))
})

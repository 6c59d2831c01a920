// A shop for browser tests: real sockets, the three endpoints and the verdicts as a guarded
// server gives them, and the trouble that a test asks for. Its orders are the truth: a test
// counts them, not what the client believes.
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'

const dist = new URL('../../dist/', import.meta.url)
const modules = new URL('../../node_modules/', import.meta.url)
const libraries = {
  '/htmx.js': 'htmx.org/dist/htmx.min.js', '/htmx2.js': 'htmx2/dist/htmx.min.js',
  '/turbo.js': '@hotwired/turbo/dist/turbo.es2017-umd.js', '/axios.js': 'axios/dist/axios.min.js'
}
const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; form-action 'self'; require-trusted-types-for 'script'"

/** Starts a shop on a free port. */
export const shop = async () => {
  const s = {
    orders: [], // {token, fields} of each run
    posts: [], // {token, fields, status, reused} of each POST of the action on the wire
    asked: [], // paths of the endpoints
    pages: {}, // path → HTML
    scripts: {}, // path → JavaScript
    reports: [], // what a page that drives itself says of it
    plan: [], // what the next POSTs meet: 'reset', '503', '422', '401'; see below
    held: null, // what runs wait for; see hold
    next: '', // where a run leads to (303); '' = it answers 201 itself
    answer: 'order ', // the beginning of that answer
    expire: false, // unused tokens are dead
    degraded: false, // the guard only looks on
    policy, // the Content-Security-Policy of the pages
    origin: null, // another origin that may ask; exposed: it may read what it needs
    exposed: true
  }
  const records = new Map()
  let issued = 0
  const seen = new WeakSet()

  const read = async req => {
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  const fieldsOf = async (type, body) => {
    if (!/form/.test(type)) return { body: body.toString() }
    const fields = {}
    for (const [name, value] of await new Response(body, { headers: { 'Content-Type': type } }).formData()) {
      fields[name] = typeof value === 'string' ? value : `${value.name}: ${await value.text()}`
    }
    return fields
  }
  const send = (res, status, body = '', headers = {}) => {
    if (res.post) res.post.status = headers['Idempotency-Status'] ?? status
    if (s.origin) {
      headers = { ...headers, 'Access-Control-Allow-Origin': s.origin, 'Access-Control-Allow-Headers': 'Idempotency-Token, Content-Type' }
      if (s.exposed) headers['Access-Control-Expose-Headers'] = 'Idempotency-Status, Idempotent-Replayed, Retry-After'
    }
    res.writeHead(status, { 'Cache-Control': 'no-store', ...headers })
    res.end(body)
  }
  const refuse = (res, verdict, status, headers) => send(res, status, `<p>${verdict}</p>`, { 'Content-Type': 'text/html', 'Idempotency-Status': verdict, ...headers })

  const endpoint = async (req, res, path) => {
    s.asked.push(path)
    const { operation, items } = JSON.parse(await read(req))
    const token = () => ({ token: 'T' + ++issued, expiresIn: s.life ?? 900, retain: 86400, degraded: s.degraded })
    const reply = data => send(res, 200, JSON.stringify(data), { 'Content-Type': 'application/json' })
    if (path === 'tokens') return reply(items ? { items: items.map(token) } : token())
    const sent = req.headers['idempotency-token']
    const record = records.get(sent)
    if (path === 'discard' && (!record || record.state === 'released')) records.set(sent, { state: 'buried' })
    if (path === 'discard' && records.get(sent).state === 'buried') return reply({ verdict: 'dead', state: 'buried' })
    reply({ state: record?.state ?? 'absent', operation, since: '', leaseLeft: 0 })
  }

  const replay = (res, { status, body, headers }, verdict) =>
    send(res, status, body, { ...headers, 'Idempotency-Status': verdict, ...(verdict === 'replayed' && { 'Idempotent-Replayed': 'true' }) })

  const guarded = async (req, res, reused) => {
    const body = await read(req)
    const { 'idempotent-token': field, ...fields } = await fieldsOf(req.headers['content-type'] ?? '', body)
    // A policy may take its key from what is ordered: then every tab that orders it has the same one.
    const token = fields.cart && s.byCart ? 'cart:' + fields.cart : req.headers['idempotency-token'] ?? field
    res.post = { token, fields, reused }
    s.posts.push(res.post)
    const trouble = s.plan.shift()
    if (trouble === '503' || trouble === '401') return send(res, Number(trouble))
    if (trouble === 'in-flight') return refuse(res, 'in-flight', 409, { 'Retry-After': '0' })
    if (trouble === 'later') return refuse(res, 'in-flight', 409, { 'Retry-After': '2' })
    if (!token) return refuse(res, 'missing', 400)
    let record = records.get(token)
    if (record?.state === 'buried') return refuse(res, 'dead', 425)
    if (!record && s.expire) {
      records.set(token, { state: 'buried' })
      return refuse(res, 'dead', 425)
    }
    const print = JSON.stringify(fields)
    if (record && record.state !== 'released' && record.print !== print) return refuse(res, 'conflict', 422)
    if (record?.state === 'processing') {
      await record.over // as a policy that waits does
      record = records.get(token)
    }
    if (record?.state === 'succeeded') return replay(res, record, 'replayed')

    let over
    records.set(token, { state: 'processing', print, over: new Promise(yes => { over = yes }) })
    await s.held
    let done
    if (trouble === '422') {
      done = { state: 'released', status: 422, body: s.pages['/'] ?? 'refused', headers: { 'Content-Type': 'text/html' } }
    } else {
      s.orders.push({ token, fields })
      done = s.next
        ? { state: 'succeeded', print, status: 303, body: '', headers: { Location: s.next } }
        : { state: 'succeeded', print, status: 201, body: s.answer + s.orders.length, headers: { 'Content-Type': 'text/html' } }
    }
    records.set(token, done)
    over()
    if (trouble === 'reset' || trouble === 'reset always') return req.socket.resetAndDestroy() // committed, and nobody hears of it
    replay(res, done, done.state === 'released' ? 'released' : 'executed')
  }

  // What many servers do: a token that was used is answered 425, whatever the reason.
  const used = new Set()
  const naive = async (req, res) => {
    const { token } = JSON.parse(await read(req))
    s.posts.push({ token })
    const trouble = s.plan.shift()
    if (used.has(token)) return send(res, 425)
    used.add(token)
    s.orders.push({ token })
    if (trouble === 'reset') return req.socket.resetAndDestroy()
    send(res, 201, 'order ' + s.orders.length)
  }

  const server = createServer(async (req, res) => {
    const { pathname } = new URL(req.url, 'http://shop.test')
    const reused = seen.has(req.socket)
    seen.add(req.socket)
    try {
      if (req.method === 'OPTIONS') send(res, 204)
      else if (pathname.startsWith('/idempotency/')) await endpoint(req, res, pathname.slice(13))
      else if (pathname === '/orders' && req.method !== 'GET') await guarded(req, res, reused)
      else if (pathname === '/report') {
        s.reports.push(JSON.parse(await read(req)))
        send(res, 204)
      } else if (pathname === '/naive/tokens') send(res, 200, JSON.stringify({ token: 'N' + ++issued }), { 'Content-Type': 'application/json' })
      else if (pathname === '/naive/orders') await naive(req, res)
      else if (pathname in libraries) send(res, 200, readFileSync(new URL(libraries[pathname], modules)), { 'Content-Type': 'text/javascript' })
      else if (pathname in s.scripts) send(res, 200, s.scripts[pathname], { 'Content-Type': 'text/javascript' })
      else if (/^\/idem(\.\w+)?\.min\.js$/.test(pathname)) send(res, 200, readFileSync(new URL(pathname.slice(1), dist)), { 'Content-Type': 'text/javascript' })
      else if (pathname in s.pages) send(res, 200, s.pages[pathname], { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': s.policy, 'Cache-Control': s.cache ?? 'no-cache' })
      else send(res, 404)
    } catch (error) {
      if (!res.headersSent && !req.socket.destroyed) send(res, 500, String(error))
    }
  })
  server.keepAliveTimeout = 60e3
  await new Promise(yes => server.listen(0, '127.0.0.1', yes))
  s.url = `http://127.0.0.1:${server.address().port}`
  // Runs take until release is called: what has to come meanwhile comes, however slow the machine.
  s.hold = () => {
    let release
    s.held = new Promise(yes => { release = yes })
    return release
  }
  s.record = token => records.get(token)
  s.close = () => {
    server.closeAllConnections()
    return new Promise(yes => server.close(yes))
  }
  return s
}

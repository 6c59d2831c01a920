// The trouble lab: one press at each of two counters, and what went over the wire for it. The
// server counts requests, tokens and orders; this page only says which of its sends each
// request belongs to, so that what the browser sent by itself can be told apart.
import { buyOnce } from './naive.js'

const sides = ['naive', 'ours']

const el = (tag, text, className) => Object.assign(document.createElement(tag), { textContent: text, className: className || '' })

/** Uses a connection, so that the order goes over one that has been used before. */
const warm = run => fetch('/runs/' + run)

/** The usual helper's press; returns how often it sent. */
async function pressNaive(run) {
  let sends = 0
  await warm(run)
  await buyOnce(async () => {
    const res = await fetch('/naive/tokens', { method: 'POST', headers: { 'Lab-Run': run } })
    return (await res.json()).token
  }, token => fetch('/naive/orders', {
    method: 'POST', body: new URLSearchParams({ run }),
    headers: { 'One-Time-Token': token, 'Lab-Run': run, 'Lab-Send': ++sends }
  }))
  return sends
}

/** The press through idem.js; returns how often it sent. */
async function pressOurs(run) {
  let sends = 0
  await warm(run)
  const order = window.idem.createIdem({
    operation: 'shop:lab:order', context: run,
    fetch: (input, init) => { // only counts
      if (input instanceof Request) input.headers.set('Lab-Send', ++sends)
      return fetch(input, init)
    }
  })
  await order.fetch('/guarded/orders', { method: 'POST', body: new URLSearchParams({ run }), headers: { 'Lab-Run': run } })
  return sends
}

/** One request on the wire, as a cell of the table. */
function arrival(a) {
  const cell = el('td')
  if (!a) return cell
  cell.append(el('span', a.again ? 'the browser, by itself' : 'the script', a.again ? 'who again' : 'who'))
  cell.append(el('span', 'token ' + a.token, 'token token-' + a.token))
  const say = (text, tone) => cell.append(el('span', text, 'came ' + tone))
  if (a.order) say(`bowl ${a.order} sold`, a.order > 1 ? 'bad' : 'good')
  if (a.reset) say('answer lost: the connection is reset', 'warn')
  else if (a.status === 425) say('425: this token is used up', 'warn')
  else if (a.verdict === 'replayed') say('replayed: the kept answer, nothing is sold', 'calm')
  else if (!a.order) say(`answered ${a.status}`, 'warn')
  return cell
}

/** What happened and why, in a sentence or two. */
function verdict({ naive, ours }) {
  const resent = side => side.arrived.some(a => a.again)
  if (!resent(naive) && !resent(ours)) {
    return ['This browser sent nothing again by itself this time.', 'The connection was a new one, or this browser leaves it to the page. Press once more.']
  }
  if (naive.orders > 1 && ours.orders === 1) {
    return [
      `One press each. The usual helper bought ${naive.orders === 2 ? 'two' : naive.orders} bowls, idem.js bought one.`,
      'The first order was written, and its answer died with the connection. The browser sent the same request again by itself. On the left the token was used up, so the answer was 425, and the helper took that for “never ran” and ordered anew. On the right the same request found the record of its first run and was given that run’s answer.'
    ]
  }
  return [`The usual helper bought ${naive.orders}, idem.js bought ${ours.orders}.`, '']
}

function show(run, sends) {
  const came = document.getElementById('came')
  const rows = Math.max(...sides.map(name => run[name].arrived.length))
  came.querySelector('tbody').replaceChildren(...Array.from({ length: rows }, (_, i) => {
    const row = el('tr'), number = el('th', 'Request ' + (i + 1))
    number.scope = 'row'
    row.append(number, ...sides.map(name => arrival(run[name].arrived[i])))
    return row
  }))
  const counts = { sends: i => sends[i], wire: i => run[sides[i]].arrived.length, tokens: i => new Set(run[sides[i]].arrived.map(a => a.token)).size, orders: i => run[sides[i]].orders }
  for (const name in counts) {
    came.querySelectorAll(`[data-count=${name}]`).forEach((cell, i) => {
      cell.textContent = counts[name](i)
      if (name !== 'orders') return
      cell.className = counts[name](i) === 1 ? 'good' : 'bad'
      for (let n = 0; n < counts[name](i); n++) cell.append(document.getElementById('bowl').content.cloneNode(true))
    })
  }
  const [says, why] = verdict(run)
  const sum = came.querySelector('.sum')
  sum.className = 'sum ' + (run.ours.orders === 1 ? 'calm' : 'bad')
  sum.querySelector('strong').textContent = says
  sum.querySelector('span').textContent = why
  came.hidden = false
  came.scrollIntoView({ block: 'start' })
}

const button = document.getElementById('press')
button.addEventListener('click', async () => {
  button.disabled = true
  try {
    const { run } = await (await fetch('/runs', { method: 'POST' })).json()
    const sends = [await pressNaive(run), await pressOurs(run)]
    show(await (await fetch('/runs/' + run)).json(), sends)
  } finally {
    button.disabled = false
    button.textContent = 'Press again'
  }
})
document.getElementById('needs-script').hidden = true
button.hidden = false

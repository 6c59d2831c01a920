// Plays a scene: sets the stage at the shop, lets the scene press the button through idem.js,
// shows what happens, and at the end has the shop count the orders.
import { openPanel } from './panel.js'
import { scenes } from './scenes.js'
import { refreshTables } from './tables.js'

const operation = 'shop:order:create'
const reloaded = 'shop:reloaded' // in sessionStorage: the scene that a reload cut in two

/** Asks the shop for something that is not an order. */
async function ask(path, fields = {}) {
  const res = await fetch(path, { method: 'POST', headers: { Accept: 'application/json' }, body: new URLSearchParams(fields) })
  if (!res.ok) throw new Error((await res.text()).trim())
  return res.json()
}

/** What each event of idem.js means to somebody who waits for tea. */
const heard = {
  tokens: ['Asked the shop for a token.'],
  send: ['Wrote the token down and sent the order.'],
  retry: ['Sent it again, with the same token.'],
  unknown: ['No answer came. The order may have been placed, so the token is kept.', 'warn'],
  waiting: ['The shop says: not yet. Asking again in a moment, with the same token.', 'warn'],
  swap: ['The shop says “dead”: this token ordered nothing and never can. Taking another, once.', 'warn'],
  ready: ['The shop refused it without effect. The token is still good.', 'warn'],
  replayed: ['The shop had done it already and sent the kept answer.', 'calm'],
  settle: ['The order is placed.', 'good'],
  conflict: ['The shop says “conflict”: this cart has ordered something else already.', 'warn'],
  stuck: ['Time is up, and nobody has said whether the order was placed. The token is kept.', 'warn'],
  rejected: ['The shop would not take the token.', 'bad']
}

/** A scene on its stage, in the hands of scenes.js. */
class Play {
  constructor(name, stage, panel) {
    Object.assign(this, { name, stage, panel, sends: 0 })
    this.user = document.getElementById('order').dataset.idemUser
  }

  /**
   * A sender of idem.js for the stage's cart, whose events are told as sentences: those of
   * heard, or others where a scene knows better.
   */
  sender(options = {}, tab = '', words = {}) {
    const send = options.fetch || fetch
    const order = window.idem.createIdem({
      operation, context: this.stage.cart, user: this.user, ...options,
      fetch: (input, init) => { // only numbers what idem.js sends: what the browser sends by itself has the same number
        if (input instanceof Request) input.headers.set('Shop-Send', ++this.sends)
        return send(input, init)
      }
    })
    for (const name in heard) {
      order.events.addEventListener('idem:' + name, ev => {
        const [text, tone] = ev.detail.state === 'stuck' ? heard.stuck : words[name] || heard[name]
        this.say(tab + text, tone)
      })
    }
    return order
  }

  /** Presses the button: the order as it was filled in, with some fields changed. */
  async press(order, changes = {}) {
    const body = new URLSearchParams(this.stage.body)
    body.set('cart', this.stage.cart)
    for (const name in changes) body.set(name, changes[name])
    const res = await order.fetch('/orders', {
      method: 'POST', body, at: performance.now(), headers: { Accept: 'application/json', 'Shop-Stage': this.stage.id }
    })
    return res.json()
  }

  say(text, tone) { this.panel.say(text, tone) }
  pause(ms) { return new Promise(done => setTimeout(done, ms)) }
  /** Has the shop do something on this stage: release, outlive or look. */
  have(what) { return ask('/showings/' + this.stage.id, { do: what }) }
  /** Begins another cart. */
  async newCart() { this.stage.cart = (await this.have('cart')).cart }
  /** Loads the page again; resume goes on from there. */
  reload() {
    sessionStorage[reloaded] = JSON.stringify({ name: this.name, stage: this.stage, said: this.panel.said })
    location.reload()
    return new Promise(() => {}) // nothing goes on here
  }
}

let playing = false

async function run(name, stage, act, said = []) {
  const panel = openPanel(stage, said)
  const scene = new Play(name, stage, panel)
  const look = setInterval(async () => {
    try {
      panel.wire((await scene.have('look')).wire)
    } catch {} // the next look will do
  }, 300)
  try {
    await act(scene)
    clearInterval(look)
    const came = await scene.have('end')
    panel.done(came)
    await refreshTables(came.orders.map(o => o.number))
  } catch (err) {
    clearInterval(look)
    panel.broke(err.message)
  }
  panel.card.querySelector('[data-again]').addEventListener('click', () => play(name))
  const ours = document.querySelector(`form[action="/trouble/${name}"]`)
  const leave = panel.card.querySelector('[data-ours]')
  if (ours) leave.addEventListener('click', () => ours.submit())
  else leave.remove()
}

/** Keeps the buttons of the troubles from starting two at once. */
async function alone(what) {
  if (playing) return
  playing = true
  document.body.classList.add('playing')
  document.getElementById('played')?.removeAttribute('data-ended') // another one begins
  try {
    await what()
  } finally {
    playing = false
    document.body.classList.remove('playing')
  }
}

/** Plays a scene from its beginning. */
export const play = name => alone(async () => run(name, await ask('/scenes/' + name), scenes[name]))

/** Plays on where a scene has loaded the page again. */
export function resume() {
  const kept = sessionStorage[reloaded]
  if (!kept) return
  delete sessionStorage[reloaded]
  const { name, stage, said } = JSON.parse(kept)
  return alone(() => run(name, stage, scenes[name].after, said))
}

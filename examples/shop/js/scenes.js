// What the page does in each scene. Nothing here knows how a trouble is survived: that is
// idem.js's part, and the shop's.

/** The moments of a scene that waits for one of idem.js's events. */
const once = (order, name) => new Promise(done => order.events.addEventListener('idem:' + name, done, { once: true }))

const refusal = err => {
  if (!err.code) throw err // not idem.js, but this page
  return err.code
}

export const scenes = {
  async 'double-click'(scene) {
    const order = scene.sender()
    scene.say('Pressed the button.')
    const first = scene.press(order)
    await scene.pause(160)
    scene.say('Pressed it again. The first press is on its way, so this one joins it.')
    const second = scene.press(order)
    await scene.pause(900)
    await scene.have('release')
    const [one, two] = await Promise.all([first, second])
    scene.say(`The first press was answered: order ${one.number}. The second: order ${two.number}.`, 'good')
  },

  async 'lost-answer'(scene) {
    const order = scene.sender()
    scene.say('Pressed the button.')
    once(order, 'unknown').then(() => scene.have('release'))
    const { number } = await scene.press(order)
    scene.say(`It is order ${number}.`, 'good')
  },

  async 'slow-shop'(scene) {
    const patience = 2000
    const order = scene.sender({
      fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.any([init.signal, AbortSignal.timeout(patience)]) })
    })
    scene.say('Pressed the button.')
    once(order, 'retry').then(() => scene.pause(700)).then(() => scene.have('release'))
    const { number } = await scene.press(order)
    scene.say(`It is order ${number}.`, 'good')
  },

  async storm(scene) {
    const order = scene.sender()
    scene.say('Pressed the button 200 times.')
    const presses = Array.from({ length: 200 }, () => scene.press(order))
    await scene.pause(900)
    await scene.have('release')
    const numbers = new Set((await Promise.all(presses)).map(answer => answer.number))
    scene.say(`All 200 presses were answered: order ${[...numbers].join(', ')}.`, 'good')
  },

  async refused(scene) {
    const order = scene.sender()
    scene.say('Pressed the button without a name.')
    const wrong = await scene.press(order, { name: '' })
    scene.say(`The shop says: ${wrong.name}`, 'warn')
    await scene.pause(500)
    scene.say('Filled in the name and pressed the button.')
    const { number } = await scene.press(order)
    scene.say(`It is order ${number}.`, 'good')
    await scene.pause(500)
    scene.say('Pressed once more, to be sure.')
    const again = await scene.press(order)
    scene.say(`It still is order ${again.number}.`, 'good')
  },

  async 'changed-cart'(scene) {
    const order = scene.sender()
    scene.say('Pressed the button.')
    const { number } = await scene.press(order)
    scene.say(`It is order ${number}.`, 'good')
    await scene.pause(500)
    scene.say('Put three more teas in the same cart and pressed again.')
    const code = await scene.press(order, { sencha: '3' }).catch(refusal)
    scene.say(`Nothing was ordered, and the page can say why: “${code}”.`, 'calm')
  },

  async 'two-tabs'(scene) {
    const storage = {} // as two tabs share localStorage
    const one = scene.sender({ storage }, 'First tab: '), two = scene.sender({ storage }, 'Second tab: ')
    scene.say('Pressed the button in both tabs.')
    const presses = [scene.press(one), scene.press(two)]
    await scene.pause(900)
    await scene.have('release')
    const [first, second] = await Promise.all(presses)
    scene.say(`The first tab shows order ${first.number}, the second order ${second.number}.`, 'good')
    await scene.newCart()
    two.setContext(scene.stage.cart)
    await scene.pause(500)
    scene.say('Filled a new cart in the second tab and pressed there.')
    const { number } = await scene.press(two)
    scene.say(`The new cart is order ${number}.`, 'good')
  },

  async 'tea-break'(scene) {
    const still = Date.now()
    const order = scene.sender({ now: () => still })
    await order.prefetch()
    scene.say('The laptop is closed, and with it the page’s clock.')
    await scene.have('outlive')
    scene.say('The laptop is opened. The token looks fresh to the page. Pressed the button.')
    const { number } = await scene.press(order)
    scene.say(`It is order ${number}.`, 'good')
  },

  async 'late-press'(scene) {
    const order = scene.sender()
    scene.say('Pressed the button.')
    const { number } = await scene.press(order)
    scene.say(`It is order ${number}. The page is left open until its token has expired.`, 'good')
    await scene.have('outlive')
    scene.say('Came back and pressed again.')
    const again = await scene.press(order)
    scene.say(`It still is order ${again.number}.`, 'good')
  },

  async 'crash-before'(scene) {
    scene.say('Pressed the button.')
    const { number } = await scene.press(scene.sender())
    scene.say(`It is order ${number}.`, 'good')
  },

  async 'crash-after'(scene) {
    const order = scene.sender({ deadline: 9000 }) // usually a minute
    scene.say('Pressed the button. This page waits nine seconds in all.')
    const code = await scene.press(order).catch(refusal)
    scene.say(`The page’s patience is over: “${code}”. It kept the token, and sends nothing new.`, 'warn')
  },

  async 'busy-proxy'(scene) {
    scene.say('Pressed the button.')
    const { number } = await scene.press(scene.sender())
    scene.say(`It is order ${number}.`, 'good')
  },

  async reload(scene) {
    const order = scene.sender()
    scene.say('Pressed the button.')
    const sent = once(order, 'send')
    scene.press(order).catch(() => {}) // the reload ends it
    await sent
    await scene.pause(900)
    scene.say('Loading the page again while the order is on its way.')
    await scene.pause(300)
    await scene.reload()
  }
}

// The other half of the reload, in the page that was loaded again.
scenes.reload.after = async scene => {
  scene.say('The page is there again, and has found the token that it had written down.')
  const order = scene.sender({}, '', {
    unknown: ['Asked the shop what became of it. Nothing is sent again.'],
    waiting: ['The shop says: it is being worked on. Asking again in a moment.', 'warn'],
    settle: ['The shop says: it has succeeded.', 'good']
  })
  once(order, 'waiting').then(() => scene.have('release'))
  const state = await order.ask()
  scene.say(state === 'empty' ? 'The order is placed, and the token is done with.' : `The shop cannot say yet: ${state}.`, state === 'empty' ? 'good' : 'warn')
}

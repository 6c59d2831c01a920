// A page that sends with fetch, as plain as it gets: a button, a line, one slot.
import { createIdem, IdemError } from '@go-idem/idem'

/** What to tell a person after each code of IdemError; `unknown` never says that it failed. */
const says = {
  unknown: 'No answer came. It may have been done: press again to ask, it is not done twice.',
  busy: 'Something else is on its way. Wait for it.',
  used: 'It was done already.',
  issue: 'It cannot be sent just now, and nothing was done.'
}

/**
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} line
 * @param {() => BodyInit} body
 */
export function orderButton(button, line, body) {
  const order = createIdem({ operation: 'shop:order:create', context: 'cart:42' })
  order.ask() // what an earlier page left on its way
  button.addEventListener('pointerenter', () => order.prefetch())
  button.addEventListener('click', async ev => {
    line.textContent = 'On its way …'
    try {
      const res = await order.fetch('/orders', { method: 'POST', body: body(), at: ev.timeStamp })
      line.textContent = res.ok ? await res.text() : 'Please look at it again: nothing was done.'
    } catch (err) {
      if (!(err instanceof IdemError)) throw err
      line.textContent = says[err.code] ?? 'Refused. Load the page again.'
    }
  })
}

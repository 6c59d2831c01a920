// What becomes of the visitor's own form, in words. idem.js fires its events at the form; this
// file only puts them into sentences.
import { refreshTables } from './tables.js'

const sentences = {
  send: 'Your order is on its way. Pressing again changes nothing.',
  retry: 'Your order is on its way again, with the same token.',
  unknown: 'An order with this form was on its way. The shop is being asked what became of it.',
  waiting: 'An order with this form is being worked on at this moment.',
  ready: 'This form was refused without effect and is still good.',
  settle: 'This form has placed its order. It stands in the order table below.',
  replayed: 'This form has placed its order. It stands in the order table below.',
  issue: 'The shop gave no token just now. The form works all the same, with the one that came with the page.',
  foreign: 'This form is not yours any more. Load the page again.',
  forgotten: 'This form is too old to tell what it did. Look at your orders, then load the page again.'
}

/**
 * Shows in state what becomes of form, from now on and of what an earlier page left on its way.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} state its data-state is what the server knew when it wrote the page
 */
export function followForm(form, state) {
  const say = name => {
    // What the server has written is as true, and says more.
    if (state.dataset.state === 'done' && /unknown|settle|replayed/.test(name)) return
    state.textContent = sentences[name]
  }
  for (const name in sentences) {
    form.addEventListener('idem:' + name, () => {
      say(name)
      if (/settle|replayed/.test(name)) refreshTables()
    })
  }
  // idem.js began before this file did: what it has found already, it says no second time.
  if (window.idem.enhance(form).pending()) say('unknown')
}

/**
 * form.js guards a plain form, from its markup alone:
 *
 *     <form method="post" action="/orders" id="order"
 *           data-idem="shop:order:create" data-idem-context="cart:42" data-idem-user="7f3a">
 *
 * Native mode, the default, changes nothing of what a form is: the browser posts it and shows
 * what comes back. The slot is written down before the form leaves, and the next page that
 * shows the form settles it by asking the status endpoint; nothing is ever posted by itself.
 * With data-idem-mode="fetch" the form is sent by `fetch` with its retries, and the page hears
 * of the answer in the events (`idem:settle` with detail.response, clone it to read it).
 *
 * Without JavaScript the form works as before with the token that the server rendered; that
 * token is also the way out here, when no fresh one can be had.
 */
import { createIdem } from '#idem'

/** @typedef {ReturnType<typeof createIdem>} Order */

/** @type {WeakMap<HTMLFormElement, Order>} */
const known = new WeakMap()
const name = 'idempotent-token'

/**
 * Guards a form; asking twice is the same as asking once. Events reach the form and bubble.
 * The submitter is disabled in the next task only, so that its name and value are still sent.
 * @param {HTMLFormElement} form
 * @returns {Order}
 */
export function enhance(form) {
  const { idem, idemContext: context, idemUser, idemEndpoint: endpoint, idemMode } = form.dataset
  const old = known.get(form)
  if (old) return old
  const order = createIdem({
    operation: /** @type {string} */ (idem), context, endpoint, on: form, fetch: /** @type {any} */ (self).idem?.fetch,
    user: [idemUser, form.getAttribute('id')] + '' // two forms of one operation are two slots
  })
  known.set(form, order)
  const rendered = new FormData(form).get(name) ?? form.append(Object.assign(document.createElement('input'), { type: 'hidden', name }))
  const fill = (/** @type {string} */ token) => {
    for (const field of /** @type {any} */ (form)) { // in it, or outside of it with an attribute form
      if (field.name === name) {
        field.value = token
        field.autocomplete = 'off' // or Firefox puts a spent token back on reload
      }
    }
  }

  let busy = false, tried = false
  /** @type {any} */
  let by
  const lock = (/** @type {boolean} */ on) => {
    busy = on
    form.setAttribute('aria-busy', '' + on)
    if (by) on ? setTimeout(() => { by.disabled = busy }) : by.disabled = on
  }
  const look = () => order.setContext(form.dataset.idemContext || '')
  // The page is shown again, or nothing came of the post: what became of it?
  const back = () => {
    lock(false)
    order.ask()
  }

  form.addEventListener('submit', async ev => {
    if (ev.defaultPrevented) return
    look()
    const native = idemMode !== 'fetch'
    const token = /** @type {string} */ (!busy && native && (order.begin(ev.timeStamp) ?? (tried && rendered)))
    if (token) {
      by = ev.submitter
      fill(token)
      lock(true)
      setTimeout(() => ev.defaultPrevented && lock(false)) // a later listener kept the form here
      setTimeout(back, 3e4)
      return
    }
    ev.preventDefault()
    if (busy || tried || token === '') return
    by = ev.submitter
    lock(true)
    if (native) {
      await order.prefetch()
      lock(false)
      tried = true
      form.requestSubmit(by)
      tried = false
    } else {
      const body = new FormData(form, by)
      body.delete(name) // the header carries it, and after a swap another one
      try {
        const res = await order.fetch(by?.getAttribute('formaction') || form.getAttribute('action') || '', {
          method: 'POST', at: ev.timeStamp, body: form.enctype > 'm' ? body : new URLSearchParams(/** @type {any} */ (body))
        })
        if (res.redirected) location.assign(res.url)
      } catch {} // the events have told it
      lock(false)
    }
  })
  for (const type of ['focusin', 'pointerenter']) {
    form.addEventListener(type, () => {
      look()
      order.prefetch()
    })
  }
  addEventListener('pageshow', ev => ev.persisted && back())
  // A token that has grown old in a tab behind is replaced when the tab comes to the front.
  addEventListener('visibilitychange', () => order.state === 'fresh' && order.prefetch())
  order.ask()
  return order
}

// What the adapters of htmx and Turbo share: the sender of an element, from its attributes.
import { createIdem } from '#idem'

/** Marks the elements that a library sends: `data-idem` itself is for the forms of form.js. */
const mark = '[data-idem-op]'

/** The sender of an element, kept as its property `idem`; the context is read anew each time. */
const orderOf = (/** @type {any} */ elt) => {
  const { idemOp: operation, idemEndpoint: endpoint, idemUser, idemContext } = elt.dataset
  const order = elt.idem ??= createIdem({ operation, endpoint, user: idemUser + ' ' + elt.id, on: elt })
  order.setContext(idemContext)
  return order
}

/**
 * Sends for a marked element. A refusal is the answer that it came with.
 * @param {Element} elt
 * @param {RequestInfo | URL} url
 * @param {RequestInit} init
 * @param {Event} [gesture] that made it be sent
 * @returns {Promise<Response>}
 */
export const send = async (elt, url, init, gesture) => {
  const order = orderOf(elt)
  const res = await order.fetch(url, { ...init, at: gesture?.timeStamp }).catch((/** @type {any} */ err) => {
    if (!err.response) throw err
    return err.response.clone()
  })
  if (res.redirected) await order.ask() // the verdict was on the answer before
  return res
}

/**
 * The same for a library that fetches. Its signal ends only its own waiting: the action goes on,
 * and the next press joins it.
 * @type {typeof send}
 */
export const sendUntil = (elt, url, { signal, ...init }, gesture) => new Promise((yes, no) => {
  signal?.addEventListener('abort', () => no(signal.reason))
  send(elt, url, init, gesture).then(yes, no)
})

/** Asks what became of what an earlier page left on its way, for the marked elements that are shown. */
export const look = () => document.querySelectorAll(mark).forEach(elt => orderOf(elt).ask())

// Who comes near finds a token ready.
addEventListener('focusin', (/** @type {any} */ ev) => {
  const elt = ev.target.closest(mark)
  if (elt) orderOf(elt).prefetch()
})

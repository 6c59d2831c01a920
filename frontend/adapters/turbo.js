/**
 * Turbo 8: a form with data-idem-op is sent through idem.js.
 *
 *     <form method="post" action="/orders" data-idem-op="shop:order:create" data-idem-context="cart:42">
 *
 * Turbo still visits, renders frames and streams; only the request of the form is ours. (Its
 * header X-Turbo-Request-Id is left out: it tells a page its own refreshes apart.)
 */
import { look, sendUntil } from './orders.js'

/** @type {Event} */
let gesture

addEventListener('submit', ev => { gesture = ev }, true)
addEventListener('turbo:before-fetch-request', (/** @type {any} */ { detail, target }) => {
  if (target.dataset?.idemOp) detail.fetchRequest = { response: sendUntil(target, detail.url, detail.fetchOptions, gesture) }
})
addEventListener('turbo:load', look)

/**
 * htmx 4: an element with data-idem-op sends its requests through idem.js.
 *
 *     <form hx-post="/orders" data-idem-op="shop:order:create" data-idem-context="cart:42">
 *
 * htmx still collects, swaps and queues; only its fetch is ours. A click that waited in its queue
 * joins the order that it was meant for, because its time is that of the click.
 */
import { look, sendUntil } from './orders.js'

addEventListener('htmx:before:request', (/** @type {any} */ ev) => {
  const { ctx } = ev.detail
  if (ctx.sourceElement.dataset.idemOp) {
    ctx.fetch = (/** @type {string} */ url, /** @type {RequestInit} */ init) => sendUntil(ctx.sourceElement, url, init, ctx.sourceEvent)
  }
})
addEventListener('htmx:after:process', look)
look() // htmx may have shown the page already

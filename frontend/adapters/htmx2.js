/**
 * htmx 2: an element with data-idem-op sends its requests through idem.js.
 *
 *     <form hx-post="/orders" data-idem-op="shop:order:create" data-idem-context="cart:42">
 *
 * htmx 2 sends by XMLHttpRequest. Its own object stays, with all that htmx has hung on it; only
 * send is ours, and the answer is put where htmx looks for it; an abort by htmx changes nothing. A click that waited in
 * its queue joins the order that it was meant for, because its time is that of the click.
 */
import { look, send } from './orders.js'

addEventListener('htmx:beforeSend', (/** @type {any} */ { detail: { xhr, pathInfo, requestConfig: { elt, verb, headers, triggeringEvent } } }) => {
  if (!elt.dataset.idemOp) return
  xhr.send = (/** @type {any} */ body) =>
    send(elt, pathInfo.finalRequestPath, { method: verb.toUpperCase(), headers, body }, triggeringEvent)
      .then(async res => {
        const text = { value: await res.text() }
        xhr.getResponseHeader = (/** @type {string} */ key) => res.headers.get(key)
        Object.defineProperties(xhr, { response: text, responseText: text, responseURL: { value: res.url }, status: { value: res.status } })
      }).then(xhr.onload, xhr.onerror)
})
addEventListener('htmx:load', look)

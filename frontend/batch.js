/**
 * batch.js asks for the tokens of several forms in one request. What is asked for in the same
 * moment leaves together, in the order it was asked for, as `{items: [...]}`; everything else
 * goes through as it is.
 *
 *     const fetch = batched()
 *     const pay = createIdem({ operation: 'shop:order:pay', fetch })
 *     const cancel = createIdem({ operation: 'shop:order:cancel', fetch })
 *     await Promise.all([pay.prefetch(), cancel.prefetch()])   // one request
 *
 * On a page that loads dist/idem-batch.min.js before idem.min.js every guarded form does so: a
 * list with a hundred of them costs one request when the tab comes to the front.
 *
 * The server issues all of a request's tokens or none. So one item that is refused (an operation
 * that is unknown, say) must not take the others with it: after a refusal each asks for itself.
 */

const most = 100 // items that the server takes at once

/**
 * Makes a fetch for createIdem.
 * @param {typeof globalThis.fetch} [send]
 * @returns {typeof globalThis.fetch}
 */
export function batched(send = (...args) => fetch(...args)) {
  /** @type {Record<string, {body: string, init: RequestInit, yes: Function, no: Function}[]>} */
  const waiting = {}

  const leave = async (/** @type {string} */ url) => {
    const all = waiting[url]
    delete waiting[url]
    while (all.length) {
      const some = all.splice(0, most)
      const alone = () => some.map(({ init, yes, no }) => send(url, init).then(/** @type {any} */ (yes), /** @type {any} */ (no)))
      if (some.length === 1) {
        alone()
        continue
      }
      try {
        const res = await send(url, { ...some[0].init, body: `{"items":[${some.map(one => one.body)}]}` })
        // One of them is refused, and nobody says which. Busy and broken servers are not asked a hundred times.
        if (res.status === 400 || res.status === 403) alone()
        else if (!res.ok) for (const { yes } of some) yes(res.clone())
        else {
          const { items } = await res.json()
          some.forEach(({ yes }, i) => yes(new Response(JSON.stringify(items[i]))))
        }
      } catch (error) {
        for (const { no } of some) no(error)
      }
    }
  }

  return (input, init) => typeof input === 'string' && input.endsWith('/tokens') && typeof init?.body === 'string'
    ? new Promise((yes, no) => {
      if (!waiting[input]) setTimeout(leave, 0, input)
      ;(waiting[input] ||= []).push({ body: /** @type {string} */ (init.body), init, yes, no })
    })
    : send(input, init)
}

/**
 * axios 1.12 and newer: a request with `idem` in its config is sent through idem.js.
 *
 *     guard(axios)
 *     await axios.post('/orders', body, { idem: { operation: 'shop:order:create', context: 'cart:42' } })
 *
 * `idem` takes the options of createIdem, and `at` (event.timeStamp of the gesture). What it
 * rejects with is an AxiosError whose code is IdemError's (`unknown`, `used`, …), with the answer
 * that decided it, if there was one, in the form that axios gives its answers.
 */
import { createIdem } from '#idem'

/**
 * @param {any} axios the library or an instance
 * @param {import('#idem').Options} [defaults]
 */
export function guard(axios, defaults) {
  /** @type {Record<string, ReturnType<typeof createIdem>>} one slot for each action */
  const orders = {}
  axios.interceptors.request.use((/** @type {any} */ config) => {
    if (config.idem) {
      const { at, ...options } = { ...defaults, ...config.idem }
      const order = orders[[options.operation, options.context, options.user] + ''] ||= createIdem(options)
      config.adapter = 'fetch'
      config.env = {
        ...config.env,
        fetch: (/** @type {any} */ input, /** @type {any} */ init) => order.fetch(input, { ...init, at }).catch(async (/** @type {any} */ cause) => {
          const res = cause.response
          if (!res) throw cause
          throw Object.assign(new Error(cause.message, { cause }), {
            code: cause.code,
            response: { status: res.status, statusText: res.statusText, headers: Object.fromEntries(res.headers), data: await res.clone().text(), config }
          })
        })
      }
    }
    return config
  })
}

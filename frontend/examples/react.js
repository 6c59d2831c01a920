// A React hook: `const { state, send } = useIdem({ operation: 'shop:order:create', context })`.
//
// The sender is kept outside of the component. So an action that is on its way is found again by
// a component that was unmounted meanwhile, and StrictMode's second mount is not a second sender.
import { useCallback, useEffect, useSyncExternalStore } from 'react'
import { createIdem } from '@go-idem/idem'

const senders = new Map()
const senderOf = ({ context = '', ...options }) => {
  const key = JSON.stringify([options.operation, context, options.user, options.endpoint])
  if (!senders.has(key)) senders.set(key, createIdem({ context, ...options }))
  return senders.get(key)
}
const events = [
  'tokens', 'fetching', 'fresh', 'degraded', 'send', 'retry', 'waiting', 'unknown', 'swap', 'ready', 'replayed', 'settle',
  'used', 'rejected', 'conflict', 'foreign', 'forgotten', 'malformed', 'issue'
].map(name => 'idem:' + name)

/**
 * @param {import('@go-idem/idem').Options} options
 * @returns {{state: string, send: Function, prefetch: Function, abandon: Function}}
 *   send(url, init, event): a Response, or an IdemError; give it the event of the gesture
 */
export function useIdem(options) {
  const order = senderOf(options)
  const subscribe = useCallback(changed => {
    for (const name of events) order.events.addEventListener(name, changed)
    return () => {
      for (const name of events) order.events.removeEventListener(name, changed)
    }
  }, [order])
  const state = useSyncExternalStore(subscribe, () => order.state, () => 'empty')
  useEffect(() => { order.ask() }, [order]) // what an earlier page left on its way
  const send = useCallback((url, init, event) => order.fetch(url, { ...init, at: event?.timeStamp }), [order])
  return { state, send, prefetch: order.prefetch, abandon: order.abandon }
}

/**
 * Makes a fetch for createIdem.
 * @param {typeof globalThis.fetch} [send]
 * @returns {typeof globalThis.fetch}
 */
export function batched(send?: typeof globalThis.fetch): typeof globalThis.fetch;

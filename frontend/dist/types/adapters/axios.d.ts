/**
 * @param {any} axios the library or an instance
 * @param {import('#idem').Options} [defaults]
 */
export function guard(axios: any, defaults?: import("#idem").Options): void;

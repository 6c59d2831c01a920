/**
 * Guards a form; asking twice is the same as asking once. Events reach the form and bubble.
 * The submitter is disabled in the next task only, so that its name and value are still sent.
 * @param {HTMLFormElement} form
 * @returns {Order}
 */
export function enhance(form: HTMLFormElement): Order;
export type Order = ReturnType<typeof createIdem>;
import { createIdem } from '#idem';

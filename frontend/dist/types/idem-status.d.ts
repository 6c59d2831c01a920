/**
 * Says on a line what an event of idem.js means. Events that mean nothing to a person leave the
 * line as it is.
 * @param {HTMLElement} line
 * @param {CustomEvent} ev
 */
export function say(line: HTMLElement, ev: CustomEvent): void;
/** Follows the forms of a page: every line with data-idem-status says what becomes of its form. */
export function followAll(): void;
/**
 * idem-status.js says in one line what became of an action, in English or Chinese. Load it where
 * it is wanted, after idem.min.js, and give the form a line:
 *
 *     <form data-idem="shop:order:create" id="order"> … <p data-idem-status></p></form>
 *     <p data-idem-status="order"></p>      a line elsewhere names the form by its id
 *
 * The line becomes a live region (role status): screen readers hear it. The language is that of
 * the nearest lang attribute. A text of your own is `data-idem-text-settle="Your order stands."`
 * on the line, or texts.en.settle = '…' in a script; an empty one says nothing. The line carries
 * the event's name in data-idem-said, for the style sheet.
 *
 * What the texts must keep: after `unknown` and `stuck` it may have been done, so none of them
 * says that it failed, or asks to begin anew.
 */
/** @type {Record<string, Record<string, string>>} language → event of idem.js, or `stuck` → text */
export const texts: Record<string, Record<string, string>>;

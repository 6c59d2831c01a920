/**
 * auto.js is the entry of dist/idem.min.js, the file for a script tag: it guards every form
 * with data-idem, now and whenever one comes later, and offers `idem.createIdem`, `idem.enhance`
 * and `idem.IdemError` to other scripts of the page. Load it with `defer`.
 */
import { createIdem, IdemError } from '#idem'
import { enhance } from './form.js'

const given = /** @type {any} */ (window).idem // batch.js, if it is loaded: one request for the tokens of several forms
Object.assign(window, { idem: { ...given, createIdem, IdemError, enhance } })

// A form that came later is found at the first sign of interest, before its own listeners run.
for (const type of ['focusin', 'pointerover', 'submit']) {
  addEventListener(type, ev => {
    const form = /** @type {Element} */ (ev.target).closest?.('form[data-idem]')
    if (form) enhance(/** @type {HTMLFormElement} */ (form))
  }, true)
}
for (const form of document.querySelectorAll('form[data-idem]')) enhance(/** @type {HTMLFormElement} */ (form))

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
export const texts = {
  en: {
    degraded: 'Repeats are not recognised just now: press once, and wait.',
    send: 'On its way. Pressing again changes nothing.',
    retry: 'No answer yet. Sent again; it is done once only.',
    waiting: 'It is being worked on. Asking again in a moment.',
    unknown: 'No answer came. It may have been done; asking what became of it.',
    stuck: 'Nobody has said yet whether it was done. Press again to ask: it is not done twice.',
    settle: 'Done.',
    replayed: 'It was done already; this is its answer.',
    used: 'It was done already, and its answer was not kept.',
    ready: 'Not accepted, and nothing was done. It can be changed and sent again.',
    rejected: 'Refused, and nothing was done. Load the page again.',
    conflict: 'This page has sent something else before. Load it again.',
    foreign: 'This page is not yours any more, or out of date. Load it again.',
    forgotten: 'This page is too old to tell whether it was done. Look first, then load it again.',
    malformed: 'It could not be read, and nothing was done. Load the page again.',
    issue: 'It cannot be sent just now, and nothing was done.'
  },
  zh: {
    degraded: '目前无法识别重复提交：请只按一次，然后等待。',
    send: '正在提交，再按也不会重复。',
    retry: '尚无回应，已再次发送；只会执行一次。',
    waiting: '正在处理，稍后再次查询。',
    unknown: '没有收到回应，可能已经完成；正在查询结果。',
    stuck: '还不知道是否完成。请再按一次查询：不会重复执行。',
    settle: '已完成。',
    replayed: '之前已经完成，这是当时的结果。',
    used: '之前已经完成，结果没有保留。',
    ready: '未被接受，什么都没有执行。可以修改后再提交。',
    rejected: '已被拒绝，什么都没有执行。请重新打开页面。',
    conflict: '本页之前提交过别的内容。请重新打开页面。',
    foreign: '本页已过期或不再属于您。请重新打开页面。',
    forgotten: '本页太旧，无法得知是否完成。请先查看结果，再重新打开页面。',
    malformed: '内容无法读取，什么都没有执行。请重新打开页面。',
    issue: '现在无法提交，什么都没有执行。'
  }
}

/**
 * Says on a line what an event of idem.js means. Events that mean nothing to a person leave the
 * line as it is.
 * @param {HTMLElement} line
 * @param {CustomEvent} ev
 */
export function say(line, ev) {
  const { state, response } = ev.detail
  const name = state === 'stuck' ? state : ev.type.slice(5)
  const lang = /** @type {HTMLElement} */ (line.closest('[lang]'))?.lang
  const text = line.dataset['idemText' + name[0].toUpperCase() + name.slice(1)] ?? (/^zh/i.test(lang) ? texts.zh : texts.en)[name]
  // A redirect hid the verdict: the next page knows more.
  if (text === undefined || name === 'ready' && response?.redirected) return
  line.textContent = text
  line.dataset.idemSaid = name
}

/** Follows the forms of a page: every line with data-idem-status says what becomes of its form. */
export function followAll() {
  const lines = () => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-idem-status]'))
  // A region must be there before its text is, or nobody hears it.
  for (const line of lines()) line.setAttribute('role', 'status')
  for (const name of Object.keys(texts.en)) {
    addEventListener('idem:' + name, ev => {
      const form = /** @type {Element} */ (ev.target)
      for (const line of lines()) {
        const of = line.dataset.idemStatus
        line.setAttribute('role', 'status')
        if (of ? of === form.id : form.contains?.(line)) say(line, /** @type {CustomEvent} */ (ev))
      }
    })
  }
}

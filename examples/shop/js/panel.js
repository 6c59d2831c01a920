// The card in which a trouble is told while this page plays it.

const item = (list, ...parts) => {
  const li = document.createElement('li')
  li.append(...parts)
  list.append(li)
  return li
}

const span = (text, className) => Object.assign(document.createElement('span'), { textContent: text, className })

/**
 * Opens the card, in the place of an earlier one.
 * @param {{title: string, story: string}} scene
 * @param {{text: string, tone: string, at: number}[]} said what was said before the page was loaded again
 */
export function openPanel({ title, story }, said) {
  const place = document.getElementById('played-place')
  place.replaceChildren(document.getElementById('showing').content.cloneNode(true))
  const card = place.querySelector('section')
  const $ = selector => card.querySelector(selector)
  $('h2').textContent = title
  $('.story').textContent = story
  card.scrollIntoView({ block: 'start' })
  const begun = Date.now() - (said.at(-1)?.at || 0)
  const tokens = []
  let shown = ''

  const panel = {
    card,
    said: [],
    /** One sentence about what the page did. tone is good, calm, warn or bad. */
    say(text, tone = '', at = Date.now() - begun) {
      panel.said.push({ text, tone, at })
      const li = item($('.did'), span(text), span((at / 1000).toFixed(1) + ' s', 'at'))
      if (tone) li.dataset.tone = tone
    },
    /** The requests that have reached the shop so far. */
    wire(lines) {
      if (JSON.stringify(lines) === shown || !lines.length) return
      shown = JSON.stringify(lines)
      $('.wire').replaceChildren()
      for (const line of lines) {
        if (line.form && !tokens.includes(line.form)) tokens.push(line.form)
        const n = tokens.indexOf(line.form) + 1
        const token = span(n ? 'token ' + n : 'no token', 'token token-' + n)
        token.title = n ? 'A keyed hash of it: ' + line.form : ''
        const what = [line.again ? 'sent by the browser itself' : line.short, line.lost ? 'answer lost' : '']
        item($('.wire'), token, ' ', span(line.verdict || line.short, 'chip ' + line.tone), ' ', span(what.filter(Boolean).join(' · '), 'then'))
      }
    },
    /** What came of it. */
    done(came) {
      panel.wire(came.wire)
      $('progress').remove()
      const sum = $('.sum'), p = sum.querySelector('p')
      sum.classList.add(came.ok ? 'good' : 'bad')
      p.querySelector('strong').textContent = came.says
      p.querySelector('span').textContent = came.why
      for (const o of came.orders) item(sum.querySelector('ul'), `Order ${o.number}: ${o.lines}, ${o.total}, written by ${o.server}`)
      sum.hidden = false
      $('.again').hidden = false
      card.dataset.ended = came.ok
    },
    /** It could not be played to its end. */
    broke(why) {
      panel.done({ ok: false, says: 'It could not be played to its end.', why, orders: [], wire: [] })
    }
  }
  for (const { text, tone, at } of said) panel.say(text, tone, at)
  return panel
}

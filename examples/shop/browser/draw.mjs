// Draws what the lab recorded: one press by the usual helper, one by idem.js, and what reached
// the shop for each. Everything in the picture comes from the record.
const escape = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const words = n => ['none', 'one', 'two', 'three', 'four', 'five'][n] ?? String(n)

/** What the shop answered to one request, and how it looks. */
const answer = a => {
  if (a.reset) return ['the connection is reset: no answer', 'lost']
  if (a.status === 425) return ['425: this token is used up', 'refused']
  if (a.verdict === 'replayed') return ['replayed: the kept answer', 'good']
  return [`${a.status}${a.verdict ? ' ' + a.verdict : ''}`, 'good']
}

const panel = (x, title, side) => {
  const page = x + 90, shop = x + 370
  let y = 118
  const parts = [`<text class="name" x="${x + 230}" y="36">${escape(title)}</text>`]
  for (const a of side.arrived) {
    const [says, how] = answer(a)
    parts.push(
      `<text class="by mid" x="${(page + shop) / 2}" y="${y - 8}">${a.again ? 'the browser, by itself' : 'the script'} · token ${a.token}</text>`,
      `<path class="go${a.again ? ' again' : ''}" d="M${page} ${y} H${shop}"/>`,
      a.order ? `<text class="sold${a.order > 1 ? ' bad' : ''}" x="${shop + 10}" y="${y + 5}">bowl ${a.order} sold</text>` : '',
      `<path class="${how}" d="M${shop} ${y + 34} H${how === 'lost' ? (page + shop) / 2 : page}"/>`,
      how === 'lost' ? `<text class="cross mid" x="${(page + shop) / 2 - 9}" y="${y + 40}">×</text>` : '',
      `<text class="sub" x="${(page + shop) / 2}" y="${y + 54}">${escape(says)}</text>`
    )
    y += 100
  }
  const end = y - 30
  parts.unshift(
    `<text class="sub" x="${page}" y="64">page</text><text class="sub" x="${shop}" y="64">shop</text>`,
    `<path class="life" d="M${page} 74 V${end} M${shop} 74 V${end}"/>`
  )
  return { text: parts.filter(Boolean).join('\n  '), end }
}

/** The picture of a record, as SVG. */
export const draw = ({ runs, presses }) => {
  const { naive, ours } = runs[0]
  const left = panel(0, `the usual helper: ${words(naive.orders)} sold`, naive)
  const right = panel(500, `idem.js: ${words(ours.orders)} sold`, ours)
  const height = Math.max(left.end, right.end) + 50
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 ${height}" role="img" aria-labelledby="title desc" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif">
  <title id="title">One press each: what reached the shop</title>
  <desc id="desc">The usual helper: ${naive.arrived.length} requests, ${naive.orders} bowls sold. idem.js: ${ours.arrived.length} requests, ${ours.orders} sold. ${escape([...naive.arrived, ...ours.arrived].map(a => answer(a)[0]).join('; '))}.</desc>
  <style>
    :root { color-scheme: light dark }
    .paper { fill: #ffffff } text { fill: #1b2127; font-size: 15px }
    .name { font-size: 17px; font-weight: 600; text-anchor: middle } .sub { font-size: 13px; fill: #4a5561; text-anchor: middle }
    .mid { text-anchor: middle } .by { font-size: 14px }
    .life { fill: none; stroke: #8794a1; stroke-width: 1.5; stroke-dasharray: 4 4 }
    .go, .good, .refused, .lost { fill: none; stroke: #3b4754; stroke-width: 1.8 }
    .go, .good, .refused { marker-end: url(#tip) } .again { stroke-dasharray: 7 4 }
    .refused { stroke: #96610c } .lost { stroke: #a3352b } .cross { fill: #a3352b; font-size: 22px; font-weight: 700 }
    .sold { font-weight: 600; fill: #2b6e3a } .bad { fill: #a3352b }
    #tip path { fill: #3b4754 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #12161b } text { fill: #e8edf2 } .sub { fill: #aebbc7 } .life { stroke: #6d7b88 }
      .go, .good { stroke: #9fb0c0 } .refused { stroke: #e7b765 } .lost { stroke: #f08a7e } .cross, .bad { fill: #f08a7e }
      .sold { fill: #7fce92 } .sold.bad { fill: #f08a7e } #tip path { fill: #9fb0c0 }
    }
  </style>
  <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z"/></marker></defs>
  <rect class="paper" width="1000" height="${height}" rx="8"/>
  ${left.text}
  ${right.text}
  <text class="sub" x="500" y="${height - 18}">recorded in ${escape(presses.browser)}: the same in ${presses.alike} of ${presses.count} presses</text>
</svg>
`
}

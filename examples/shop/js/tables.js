// Keeps the order table and the log up to date. The cells are those of the server's template.

const el = (tag, text, className) => {
  const node = document.createElement(tag)
  if (text !== undefined) node.textContent = text
  if (className) node.className = className
  return node
}

const whose = row => {
  const cell = el('td')
  cell.append(row.yours ? el('strong', row.by) : row.by)
  return cell
}

const orderRow = (o, fresh) => {
  const row = el('tr')
  if (fresh.includes(o.number)) row.className = 'fresh'
  const number = el('th', o.number)
  number.scope = 'row'
  row.append(number, el('td', o.at), el('td', o.lines), el('td', o.total, 'right'), el('td', o.name), whose(o), el('td', o.server))
  return row
}

const logRow = line => {
  const row = el('tr'), form = el('td'), word = el('td')
  form.append(el('code', line.form || 'none'))
  word.append(el('span', line.word, 'chip ' + line.tone))
  row.append(el('td', line.at), whose(line), form, word, el('td', line.says), el('td', line.status || '–', 'right'), el('td', line.took, 'right'))
  return row
}

const fill = (section, rows) => {
  section.querySelector('tbody').replaceChildren(...rows)
  section.querySelector('.scroll').hidden = rows.length === 0
  section.querySelector('.none').hidden = rows.length > 0
}

/**
 * Asks the shop for its tables and shows them; the orders with the given numbers stand out.
 * @param {number[]} [fresh]
 */
export async function refreshTables(fresh = []) {
  const res = await fetch('/tables', { headers: { Accept: 'application/json' } })
  if (!res.ok) return
  const now = await res.json()
  const orders = document.getElementById('orders'), log = document.getElementById('log')
  fill(orders, now.orders.map(o => orderRow(o, fresh)))
  fill(log, now.log.map(logRow))
  orders.querySelector('.count').textContent = now.count
}

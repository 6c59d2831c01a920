// A small explorer of every history that a model allows, breadth first, so that the first history
// it finds bad is a shortest one.

/**
 * @param {object} init the first state, plain data
 * @param {(s: object) => [string, object][]} moves what can happen next, each with its words
 * @param {(s: object) => string} bad what is wrong with a state, '' if nothing is
 * @param {number} [most] gives up behind so many states
 * @returns {{bad?: string, history?: string[], states: number, whole: boolean}}
 */
export const explore = (init, moves, bad, most = 1e6) => {
  const first = JSON.stringify(init)
  const index = new Map([[first, 0]])
  const parent = [-1], words = ['']
  const history = (i, last) => {
    const list = [last]
    for (; i > 0; i = parent[i]) list.push(words[i])
    return list.reverse()
  }
  for (let level = [first]; level.length;) {
    const found = []
    for (const text of level) {
      const me = index.get(text)
      for (const [word, state] of moves(JSON.parse(text))) {
        const wrong = bad(state)
        if (wrong) return { bad: wrong, history: history(me, word), states: index.size, whole: false }
        const key = JSON.stringify(state)
        if (index.has(key)) continue
        index.set(key, parent.length)
        parent.push(me)
        words.push(word)
        found.push(key)
        if (index.size > most) return { states: index.size, whole: false }
      }
    }
    level = found
  }
  return { states: index.size, whole: true }
}

/** Collects the moves from a state: move(words, change), where a change that returns false is none. */
export const mover = state => {
  const list = []
  const text = JSON.stringify(state)
  return {
    list,
    move: (word, change) => {
      const copy = JSON.parse(text)
      if (change(copy) !== false) list.push([word, copy])
    }
  }
}

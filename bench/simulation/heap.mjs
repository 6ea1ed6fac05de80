/** A heap of values by a number: `pop` gives the one with the least, `undefined` when it is empty. */
export function createHeap() {
  const keys = []
  const values = []
  const swap = (a, b) => {
    ;[keys[a], keys[b]] = [keys[b], keys[a]]
    ;[values[a], values[b]] = [values[b], values[a]]
  }
  const findLeast = (place) => {
    const [left, right] = [2 * place + 1, 2 * place + 2]
    const least = left < keys.length && keys[left] < keys[place] ? left : place
    return right < keys.length && keys[right] < keys[least] ? right : least
  }
  return {
    push(key, value) {
      let place = keys.push(key) - 1
      values.push(value)
      while (place > 0 && keys[(place - 1) >> 1] > keys[place]) {
        swap(place, (place - 1) >> 1)
        place = (place - 1) >> 1
      }
    },
    pop() {
      if (keys.length === 0) return undefined
      swap(0, keys.length - 1)
      const least = { key: keys.pop(), value: values.pop() }
      let place = 0
      for (let next = findLeast(0); next !== place; next = findLeast(place)) {
        swap(place, next)
        place = next
      }
      return least
    },
  }
}

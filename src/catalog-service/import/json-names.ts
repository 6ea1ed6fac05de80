/** A string of JSON, and the colon after one that is a name. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/**
 * Whether an object of a JSON text repeats a name, of which `JSON.parse` keeps the last value: a piece of the file may be
 * missing, so that two items became one. `json`: the parsed text.
 */
export function hasRepeatedName(text: string, json: unknown): boolean {
  const names = countNames(json)
  // Much faster, and right unless names before spaces and values after colons are equally many.
  if (countSeparators(text) === names) return false
  let count = 0
  for (const [, colon] of text.matchAll(STRING)) if (colon !== undefined) count += 1
  return count > names
}

function countSeparators(text: string): number {
  let count = 0
  for (let at = text.indexOf('":'); at !== -1; at = text.indexOf('":', at + 2)) count += 1
  return count
}

/** Without recursion, which deep nesting could exhaust. */
function countNames(json: unknown): number {
  let count = 0
  const rest: object[] = isObject(json) ? [json] : []
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    const isArray = Array.isArray(value)
    // Faster than `Object.values`: each row of a feed comes here.
    for (const name in value) {
      if (!isArray) count += 1
      const inner: unknown = (value as Record<string, unknown>)[name]
      if (isObject(inner)) rest.push(inner)
    }
  }
  return count
}

function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null
}

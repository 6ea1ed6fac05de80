/** Fields of a product; some are also in other objects. */
const ITEM_KEYS: ReadonlySet<string> = new Set(
  'gtin gtins ean upc isbn id title name link url price offers image_link product_basic producturl catalogitemid'.split(
    ' ',
  ),
)
const MIN_ITEM_KEYS = 2

/** A feed itself may have a title and a link, but not these. */
const PRODUCT_KEYS: ReadonlySet<string> = new Set(
  'gtin gtins ean upc isbn price offers product_basic'.split(' '),
)

const MAX_KEYS = 100
const MAX_ARRAYS = 100

/** Items are not deeper, and the rest of a file with deeper levels is not read. */
const MAX_DEPTH = 10

/** `path`: keys to the array of items, empty if the file is the array; `undefined`: there is one item per line. `keys`: of the first item. */
export type JsonHead = Readonly<{ path: readonly string[] | undefined; keys: readonly string[] }>

/** An open object or array. `path`: keys to it. `key`: the last key of an object. */
type Level = {
  readonly isObject: boolean
  readonly path: readonly string[]
  readonly keys: string[]
  key: string
}

/** A string, which may be a key, or the begin or end of an object or array. An unclosed string is one token, so that the work is linear. */
const TOKEN = /"((?:[^"\\]|\\[^])*)"?|[{}[\]]/g
const KEY_END = /\s{0,100}:/y

/** Find the items of a JSON file in its first characters, which may end anywhere. */
export function readJsonHead(text: string): JsonHead {
  const { root, arrays } = readLevels(text)
  const [first] = arrays
  if (root === undefined) return { path: undefined, keys: [] }
  if (!root.isObject) return { path: [], keys: first?.keys ?? [] }
  const isItem = root.keys.some((key) => PRODUCT_KEYS.has(key))
  const found = isItem
    ? undefined
    : (arrays.find(({ keys }) => keys.some((key) => PRODUCT_KEYS.has(key.toLowerCase()))) ??
      arrays.find(({ keys }) => keys.filter(isItemKey).length >= MIN_ITEM_KEYS))
  return found ?? { path: undefined, keys: root.keys }
}

function isItemKey(key: string): boolean {
  return ITEM_KEYS.has(key.toLowerCase())
}

/** Read the first value. `arrays`: the first object of each array that is in no other array. */
function readLevels(text: string): Readonly<{ root: Level | undefined; arrays: readonly Level[] }> {
  const levels: Level[] = []
  const arrays: Level[] = []
  let root: Level | undefined
  for (const { 0: token, 1: string, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      const level = openLevel(levels.at(-1), token === '{')
      root ??= level
      if (isFirstItem(level, levels, arrays)) arrays.push(level)
      levels.push(level)
    } else if (string === undefined) levels.pop()
    else if (isKeyEnd(text, index + token.length)) addKey(levels.at(-1), string)
    if (levels.length === 0 || levels.length > MAX_DEPTH) break
  }
  return { root, arrays }
}

function isKeyEnd(text: string, at: number): boolean {
  KEY_END.lastIndex = at
  return KEY_END.test(text)
}

function openLevel(parent: Level | undefined, isObject: boolean): Level {
  const path = parent === undefined ? [] : parent.isObject ? [...parent.path, parent.key] : parent.path
  return { isObject, path, keys: [], key: '' }
}

function isFirstItem(level: Level, levels: readonly Level[], arrays: readonly Level[]): boolean {
  const isInOuterArray =
    levels.at(-1)?.isObject === false && levels.slice(0, -1).every(({ isObject }) => isObject)
  return (
    level.isObject &&
    isInOuterArray &&
    arrays.length < MAX_ARRAYS &&
    !arrays.some((one) => isSamePath(one, level))
  )
}

function isSamePath(one: Level, other: Level): boolean {
  return one.path.join('\n') === other.path.join('\n')
}

function addKey(level: Level | undefined, key: string | undefined): void {
  if (level?.isObject !== true || key === undefined) return
  level.key = key
  if (level.keys.length < MAX_KEYS) level.keys.push(key)
}

import { MAX_READ_OFFERS } from '../../offers/offer-limits.ts'
import type { FeedMap } from './column-map.ts'
import { type SourceRow, truncateRaw } from './feed-row.ts'
import { type FeedLine, decodeUtf8, parseJson } from './json-items.ts'
import { findLineProblem } from './json-rows.ts'
import { MAX_VALUES } from './xml-items.ts'

/** A key, an index, or a choice of the elements of an array whose key has a value. */
type Step = string | number | Readonly<{ key: string; value: string }>

type PathOptions = Readonly<{
  /** Path of the offers within an item. */
  offersPath: string | undefined
  /** Decimal sign of prices, in which numbers are given too. */
  decimal: FeedMap['decimal']
}>

/** @yields the items of each chunk as rows whose fields are paths such as `a.b[0].c` */
export async function* toJsonSourceRows(
  lineBatches: AsyncIterable<FeedLine[]>,
  options: PathOptions,
): AsyncGenerator<SourceRow[]> {
  const paths = createPathCache()
  for await (const lines of lineBatches)
    yield lines.filter(isNotBlank).map((line) => toSourceRow(line, options, paths))
}

type PathCache = ReturnType<typeof createPathCache>

/** Paths come from the column map, so the cache is bounded. */
function createPathCache() {
  const stepsByPath = new Map<string, readonly Step[]>()
  return {
    get(path: string): readonly Step[] {
      const steps = stepsByPath.get(path) ?? parseSteps(path)
      stepsByPath.set(path, steps)
      return steps
    },
  }
}

function parseSteps(path: string): readonly Step[] {
  return path.split('.').flatMap((part): readonly Step[] => {
    const [, name = part, index, key, value = ''] = /^(.*)\[(?:(\d+)|@(\w+)=([^\]]*))\]$/.exec(part) ?? []
    if (key !== undefined) return [name, { key, value: value.toLowerCase() }]
    return index === undefined ? [name] : [name, Number(index)]
  })
}

function isNotBlank({ bytes }: FeedLine): boolean {
  return bytes.toString('latin1', 0, 1) === '{' || bytes.toString().trim() !== ''
}

function toSourceRow(
  line: FeedLine,
  { offersPath, decimal = '.' }: PathOptions,
  paths: PathCache,
): SourceRow {
  const text = decodeUtf8(line.bytes)
  const json = line.isTooLong ? undefined : parseJson(text ?? '')
  const problem = findLineProblem(line, text, json) ?? (isObject(json) ? undefined : ['row', 'not an object'])
  const createRow = (offer: unknown): SourceRow => {
    const readAll = (path: string): readonly string[] => {
      const offerPath = offer === undefined ? undefined : findPathInOffer(path, offersPath)
      const values =
        offerPath === undefined ? findValues(json, paths.get(path)) : findValues(offer, paths.get(offerPath))
      return values.map((value) => toText(value, decimal)).filter((value) => value !== '')
    }
    return {
      row: line.row,
      bytes: line.bytes.length,
      problem: problem === undefined ? undefined : { field: problem[0], reason: problem[1] },
      hasLists: false,
      read: (path) => readAll(path)[0] ?? '',
      readAll,
      toRawText: () => truncateRaw((text ?? line.bytes.toString()).trim()),
      getContent: () => line.bytes,
    }
  }
  const offers =
    offersPath === undefined
      ? undefined
      : findValues(json, paths.get(offersPath), MAX_READ_OFFERS + 1).map((offer) => createRow(offer ?? null))
  return { ...createRow(undefined), offers }
}

/** Return the path from the offer; `undefined` when it is not within the offers. */
function findPathInOffer(path: string, offersPath: string | undefined): string | undefined {
  return offersPath !== undefined && path.startsWith(`${offersPath}.`)
    ? path.slice(offersPath.length + 1)
    : undefined
}

/** Follow a path. A step into an array without an index follows each of its first values. */
function findValues(json: unknown, steps: readonly Step[], maxValues: number = MAX_VALUES): unknown[] {
  let values: unknown[] = [json]
  for (const step of steps) {
    values = values
      .flatMap((value) =>
        Array.isArray(value) && typeof step !== 'number' ? value.slice(0, maxValues) : [value],
      )
      .flatMap((value) => takeStep(value, step))
  }
  return values
    .flatMap((value) => (Array.isArray(value) ? value.slice(0, maxValues) : [value]))
    .slice(0, maxValues)
}

function takeStep(value: unknown, step: Step): readonly unknown[] {
  if (!isObject(value)) return []
  if (typeof step === 'object') return String(value[step.key]).toLowerCase() === step.value ? [value] : []
  return Object.hasOwn(value, step) ? [value[step]] : []
}

function isObject(value: unknown): value is Readonly<Record<string | number, unknown>> {
  return typeof value === 'object' && value !== null
}

function toText(value: unknown, decimal: string): string {
  if (typeof value === 'string') return value.trim()
  if (typeof value === 'number') return String(value).replace('.', decimal)
  return typeof value === 'boolean' ? String(value) : ''
}

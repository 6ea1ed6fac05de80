import type { Reject } from './feed-product.ts'

/** Faults of one row that get a line each. */
const MAX_REFUSALS = 20

/** The rejects of one row being read. */
export type Refusals = Readonly<{
  /** Writes a reject down; beyond twenty it is only counted. `describe` is called for those that are written. */
  add(field: string, reason: string, describe: () => string): void
  /** All of them, and how many there are more. */
  list(): readonly Reject[]
}>

/** Collects the rejects of the row: a row of eight megabytes must not become a file of gigabytes. */
export function collectRefusals(row: number): Refusals {
  const rejects: Reject[] = []
  let more = 0
  return {
    add(field, reason, describe) {
      if (rejects.length < MAX_REFUSALS) rejects.push({ row, field, reason, raw: describe() })
      else more += 1
    },
    list() {
      if (more === 0) return rejects
      const [first] = rejects
      return [...rejects, { row, field: 'row', reason: `and ${more} more`, raw: first?.raw ?? '' }]
    },
  }
}

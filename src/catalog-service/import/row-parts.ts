import { isUsableLink } from '../../offers/links.ts'
import { parseFeedGtin, parseIsbn, trimCode } from './feed-gtin.ts'
import { toFeedText } from './feed-text.ts'
import type { RowTask } from './source-row.ts'

/** Conditions that the contract cannot tell readers of, in lower case, letters only. */
const NOT_NEW: ReadonlySet<string> = new Set([
  'used',
  'refurbished',
  'renewed',
  'reconditioned',
  'openbox',
  'preowned',
  'secondhand',
])

/** The first GTIN of these columns that is right; those before it that are wrong get a line each. */
export function findGtinOf(task: RowTask, fields: readonly string[]): string | undefined {
  const faults: [field: string, reason: string][] = []
  for (const field of fields) {
    for (const code of readCodes(task, field)) {
      const parsed = field === 'isbn' ? parseIsbn(code) : parseFeedGtin(code)
      if (typeof parsed === 'string') {
        faults.push([field, parsed])
        continue
      }
      for (const [name, reason] of faults) task.refuse(name, `${reason}; another gtin of the row is used`)
      return parsed.gtin
    }
  }
  return task.refuse(...(faults[0] ?? ['gtin', 'there is no gtin']))
}

/** Google lets a product have several, in a list with commas. */
function readCodes({ row }: RowTask, field: string): string[] {
  return row
    .readAll(field)
    .flatMap((text) => text.split(','))
    .map(trimCode)
    .filter((code) => code !== '')
}

/** The first of these columns that is filled, as text for readers; `undefined` when all are empty. */
export function findText({ row }: RowTask, fields: readonly string[]): string | undefined {
  for (const field of fields) {
    const text = toFeedText(row.read(field))
    if (text !== '') return text
  }
  return undefined
}

/** The title, or a reject. */
export function findTitle(task: RowTask, field: string): string | undefined {
  return findText(task, [field]) ?? task.refuse(field, 'the title is empty')
}

/** Is the product new, as far as the feed says? Otherwise it is a reject. */
export function isNew(task: RowTask): boolean {
  const condition = task.row.read('condition')
  if (!NOT_NEW.has(condition.replace(/[^a-z]/gi, '').toLowerCase())) return true
  task.refuse('condition', `not new: ${condition.slice(0, 40)}`)
  return false
}

/** The first of these columns that is filled, unchanged; a reject when it is no address for readers. */
export function findLink(task: RowTask, fields: readonly string[]): string | undefined {
  const field = fields.find((name) => task.row.read(name) !== '')
  if (field === undefined) return task.refuse(fields[0] ?? 'link', 'there is no link')
  const link = task.row.read(field)
  if (isUsableLink(link)) return link
  return task.refuse(field, 'not an absolute http or https address without credentials')
}

/**
 * The shop: as the command names it, else as the row does, else the host of its own page without `www.` (`pageUrl`,
 * `''` when the row has only a network's link).
 */
export function findMerchant(task: RowTask, pageUrl: string): string | undefined {
  const named = task.context.names.merchant ?? findText(task, ['merchant_name'])
  if (named !== undefined) return named
  if (!isUsableLink(pageUrl))
    return task.refuse('merchant_name', 'no shop is named; --merchant NAME names one')
  task.context.noteLinkMerchant()
  return new URL(pageUrl).hostname.replace(/^www\./, '')
}

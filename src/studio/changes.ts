import { normalizeGtin } from '../offers/gtin.ts'
import { addBoxProduct, removeBoxProduct, addPick, movePick, removePick } from './product-lists.ts'
import { type StudioSelection, parseStudioSelection, toSelectionQuery } from './selection.ts'

/** The value of a button that changes a list: what it does, and the product. */
export function toChange(verb: ChangeVerb, gtin: string): string {
  return `${verb} ${gtin}`
}

type ChangeVerb = keyof typeof CHANGES

type Change = (selection: StudioSelection, gtin: string) => StudioSelection

/** By the word in the parameter `change`. */
const CHANGES = {
  add: (selection, gtin) => ({ ...selection, picks: addPick(selection.picks, gtin) }),
  remove: (selection, gtin) => ({ ...selection, picks: removePick(selection.picks, gtin) }),
  up: (selection, gtin) => ({ ...selection, picks: movePick(selection.picks, gtin, -1) }),
  down: (selection, gtin) => ({ ...selection, picks: movePick(selection.picks, gtin, 1) }),
  variant: (selection, gtin) => ({ ...selection, box: addBoxProduct(selection.box, 'variants', gtin) }),
  'stand-in': (selection, gtin) => ({ ...selection, box: addBoxProduct(selection.box, 'standIns', gtin) }),
  drop: (selection, gtin) => ({ ...selection, box: removeBoxProduct(selection.box, gtin) }),
} as const satisfies Readonly<Record<string, Change>>

/**
 * Apply the change that a button of the form asks for, and return the query of the result; `null`: the query asks for none. An
 * invalid change changes nothing.
 */
export function applyChange(query: URLSearchParams): URLSearchParams | null {
  const text = query.get('change')
  if (text === null) return null
  const [verb = '', gtinText = ''] = text.split(' ')
  const gtin = normalizeGtin(gtinText)
  const selection = parseStudioSelection(query)
  const change = new Map<string, Change>(Object.entries(CHANGES)).get(verb)
  const changed = change === undefined || gtin === undefined ? selection : change(selection, gtin)
  return toSelectionQuery(changed, selection.channelId)
}

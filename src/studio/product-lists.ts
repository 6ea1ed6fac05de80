import { normalizeGtin } from '../offers/gtin.ts'
import { cleanText } from '../offers/text.ts'
import { MAX_VARIANTS, PICKS_COUNT } from '../widgets/address.ts'
import { MAX_STAND_INS, MAX_LABEL_CHARACTERS, trimLabels } from '../widgets/parameters.ts'

/** The products of a box besides the chosen one, as GTINs of 14 digits. */
export type BoxProducts = Readonly<{ variants: readonly string[]; standIns: readonly string[] }>

/** How many products can be added; the chosen product is the first variant. */
export const BOX_PRODUCT_LIMITS = { variants: MAX_VARIANTS - 1, standIns: MAX_STAND_INS } as const

/** A role that a product can have in a box besides the chosen one. */
export type BoxRole = keyof BoxProducts

/** Parse lists of GTINs. Invalid and repeated ones, the chosen product, and those above the limits are dropped. */
export function parseBoxProducts(
  gtin: string | null,
  lists: Readonly<Record<BoxRole, readonly string[]>>,
): BoxProducts {
  const main = normalizeGtin(gtin ?? '')
  const variants = toGtins(lists.variants)
    .filter((one) => one !== main)
    .slice(0, BOX_PRODUCT_LIMITS.variants)
  const standIns = toGtins(lists.standIns)
    .filter((one) => one !== main && !variants.includes(one))
    .slice(0, BOX_PRODUCT_LIMITS.standIns)
  return { variants, standIns }
}

/** Add a product in a role, unless it has the role or the list is full. It loses its other role. */
export function addBoxProduct(products: BoxProducts, role: BoxRole, gtin: string): BoxProducts {
  if (products[role].includes(gtin) || products[role].length >= BOX_PRODUCT_LIMITS[role]) return products
  const others = removeBoxProduct(products, gtin)
  return { ...others, [role]: [...others[role], gtin] }
}

/** Remove a product from both lists. */
export function removeBoxProduct({ variants, standIns }: BoxProducts, gtin: string): BoxProducts {
  return {
    variants: variants.filter((one) => one !== gtin),
    standIns: standIns.filter((one) => one !== gtin),
  }
}

function toGtins(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.flatMap((text) => normalizeGtin(text.trim()) ?? []))]
}

/** A product of a round-up: its GTIN of 14 digits, and its label, which is empty for none. */
export type Pick = Readonly<{ gtin: string; label: string }>

/** The list of a round-up in the editor's order. Functions return a new list, or the same one without a change. */
export type PicksList = readonly Pick[]

/**
 * Parse a list from its GTINs, separated by commas, and its labels by position. Invalid and repeated GTINs and those above the
 * limit are dropped with their labels; a label that is too long is cut.
 */
export function parsePicks(gtinsText: string, labels: readonly string[]): PicksList {
  const picks = gtinsText.split(',').flatMap((text, position): Pick[] => {
    const gtin = normalizeGtin(text.trim())
    return gtin === undefined ? [] : [{ gtin, label: toLabel(labels[position] ?? '') }]
  })
  const firsts = picks.filter((pick, index) => findPosition(picks, pick.gtin) === index)
  return firsts.slice(0, PICKS_COUNT.max)
}

/** The bar separates labels in the attributes of placeholders and shortcodes. */
function toLabel(text: string): string {
  return cleanText(text.replaceAll('|', '/'), MAX_LABEL_CHARACTERS)
}

/** Add a product at the end, unless the list has it already or is full. */
export function addPick(picks: PicksList, gtin: string): PicksList {
  return isFull(picks) || findPosition(picks, gtin) >= 0 ? picks : [...picks, { gtin, label: '' }]
}

export function removePick(picks: PicksList, gtin: string): PicksList {
  return picks.filter((pick) => pick.gtin !== gtin)
}

/** Move a product with its label by a number of positions; negative: towards the start. */
export function movePick(picks: PicksList, gtin: string, by: number): PicksList {
  const from = findPosition(picks, gtin)
  const to = from + by
  const pick = picks[from]
  if (pick === undefined || to < 0 || to >= picks.length) return picks
  return picks.toSpliced(from, 1).toSpliced(to, 0, pick)
}

export function isFull(picks: PicksList): boolean {
  return picks.length >= PICKS_COUNT.max
}

/** List the labels by position, without empty ones at the end. */
export function listLabels(picks: PicksList): readonly string[] {
  return trimLabels(picks.map(({ label }) => label))
}

/** Say how many products are still needed; `null`: enough. */
export function describeNeed({ length }: PicksList): string | null {
  const needed = PICKS_COUNT.min - length
  if (needed <= 0) return null
  const range = `A round-up has ${PICKS_COUNT.min} to ${PICKS_COUNT.max} products.`
  return length === 0
    ? `Your list is empty. Find a product and choose “Add”. ${range}`
    : `Add ${needed === 1 ? 'one more product' : `${needed} more products`} to see the round-up. ${range}`
}

function findPosition(picks: PicksList, gtin: string): number {
  return picks.findIndex((pick) => pick.gtin === gtin)
}

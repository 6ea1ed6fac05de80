import { normalizeGtin } from '../offers/gtin.ts'
import { MAX_VARIANTS } from '../widgets/address.ts'
import { MAX_STAND_INS } from '../widgets/parameters.ts'

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

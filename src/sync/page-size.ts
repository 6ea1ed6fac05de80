import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'

/** Products per request. When a page is too large, the next smaller number is tried. */
const LIMITS = [MAX_PAGE_PRODUCTS, 50, 10, 1] as const

/** Choose how many products the next page of a walk has: at first the largest number. */
export function createPageSize() {
  let step = 0
  /** Products until a larger page is tried again: as many as the page that was too large. */
  let reducedProducts = 0
  const getLimit = (): number => LIMITS[step] ?? 1
  return {
    getLimit,
    /** Use smaller pages. Return `false` when a page already is a single product. */
    reduce(): boolean {
      if (step === LIMITS.length - 1) return false
      reducedProducts = getLimit()
      step += 1
      return true
    },
    /** Record a page that was not too large. */
    advance(): void {
      reducedProducts -= getLimit()
      if (step === 0 || reducedProducts > 0) return
      step -= 1
      reducedProducts = LIMITS[step - 1] ?? 0
    },
    /** Use the largest pages again, because the product that was too large is left out. */
    reset(): void {
      step = 0
    },
    /** Compute how many calls fetch the rest of a catalog, at least one. */
    countCalls(products: number): number {
      const reduced = step === 0 ? 0 : Math.min(products, reducedProducts)
      const calls = Math.ceil(reduced / getLimit()) + Math.ceil((products - reduced) / MAX_PAGE_PRODUCTS)
      return Math.max(1, calls)
    },
  }
}

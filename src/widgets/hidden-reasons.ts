import { isCheckDigitRight } from '../offers/gtin.ts'

/** Why nothing of a channel is shown that was served and is not listed any more. */
export const GONE_REASON = 'The catalog no longer lists this channel.'

/** Why a grid may be empty, for whoever builds the page. */
export function explainHiddenGrid(page: number): string {
  return page > 1
    ? `There is no page ${page} of the deals that fit the options of this address.`
    : 'No offer that is on sale fits the options of this address.'
}

/** Why a box may be empty; `gtin` is padded. */
export function explainHiddenBox(gtin: string, isSold: boolean): string {
  if (isSold) return 'No offer of this product fits the options of this address.'
  return isCheckDigitRight(gtin)
    ? 'No shop of this channel sells the product of this GTIN.'
    : 'The last digit of this GTIN is wrong: is it mistyped? No shop of this channel sells it.'
}

/**
 * Where the id of a placement, the sub-id, goes in an affiliate link. `before` and `after` are inserted around it at `index`;
 * at most `maxCharacters` of the sub-id fit.
 */
export type SubPlace = Readonly<{ index: number; before: string; after: string; maxCharacters: number }>

/** The rules of the networks. */
export type SubRules = Readonly<{
  /**
   * Find the place of the sub-id in a link; `undefined` when no rule applies, when the link already has a sub-id, and when it is
   * signed. Such a link stays byte for byte.
   */
  findPlace(offer: Readonly<{ network: string; affiliateUrl: string }>): SubPlace | undefined
}>

export const NO_SUB_RULES: SubRules = { findPlace: () => undefined }

/** Insert a sub-id at its place. The rest of the link stays byte for byte. */
export function insertSub(
  link: string,
  { index, before, after, maxCharacters }: SubPlace,
  sub: string,
): string {
  return `${link.slice(0, index)}${before}${sub.slice(0, maxCharacters)}${after}${link.slice(index)}`
}

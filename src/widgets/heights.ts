/** Measured in Chromium on a phone of 360 px: the head and the foot of a box, an offer, and the fold under them. */
const BOX_PX = 290
const OFFER_PX = 76
const MORE_PX = 46

/** Measured at 640 px, in which three cards stand side by side: head, foot and paging of a grid, and a row of cards. */
const GRID_PX = 220
const CARDS_PX = 340
const CARDS_IN_ROW = 3

/** A height in which a where-to-buy box of so many offers fits a phone, with a title of two or three lines. */
export function estimateBoxHeightPx(offerCount: number, limit: number): number {
  const shown = Math.min(offerCount, limit)
  return BOX_PX + shown * OFFER_PX + (offerCount > shown ? MORE_PX : 0)
}

/** A height in which a grid of so many cards fits an article's column; on a phone it scrolls inside its frame. */
export function estimateGridHeightPx(cardCount: number): number {
  return GRID_PX + Math.ceil(cardCount / CARDS_IN_ROW) * CARDS_PX
}

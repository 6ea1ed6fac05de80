/** Reasons for these numbers, and what follows from them: docs/sizing.md. */

/** A magazine without a CDN: a million views a month. */
export const SMALL = {
  viewsPerDay: 1e6 / 30,
  products: 5_000,
  channels: 1,
  points: 0,
  replicas: 1,
}

/** A price portal: a few channels with most of what is sold, behind a CDN. */
export const PORTAL = { viewsPerDay: 20e6, products: 2e6, channels: 5, points: 20, replicas: 2 }

/** How many cells a billion views a day and a hundred million products are cut into. */
export const CELLS = 50

/** One of them: a fiftieth of the views, the products and a thousand channels. */
export const CELL = {
  viewsPerDay: 1e9 / CELLS,
  products: 1e8 / CELLS,
  channels: 1_000 / CELLS,
  points: 50,
  replicas: 2,
}

/** What no cut by channel helps against: all of the products in one channel. */
export const ONE_CHANNEL = { viewsPerDay: 1e9, products: 1e8, channels: 1, points: 50, replicas: 12 }

/** Other fronts and other readers of the same cell. */
export const FRONTS = {
  'without the shield': { hasShield: false },
  'ten points of presence': { points: 10 },
  'no CDN': { points: 0 },
  'flatter: 1/rank^0.8': { zipf: 0.8 },
  'steeper: 1/rank^1.2': { zipf: 1.2 },
  'ten times the views': { viewsPerDay: 10 * (1e9 / CELLS) },
}

/** Daily limits of the cell, from what it would use down to a walk in two days. */
export const LIMITS = [10_000_000, 2_000_000, 500_000, 100_000, 20_000, 10_000]

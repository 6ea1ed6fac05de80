export { default as DealGrid } from './deal-grid.astro'
export { default as RoundUp } from './round-up.astro'
export { default as WhereToBuy } from './where-to-buy.astro'

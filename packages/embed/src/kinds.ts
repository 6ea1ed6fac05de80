/** Kinds of widgets, as in their addresses, by element name. */
export const KINDS = {
  'where-to-buy': 'where-to-buy',
  'round-up': 'picks',
  'deal-grid': 'deals',
} as const

export type ElementName = keyof typeof KINDS

/** What both clients do, each with what its generator made. */
export type Visit = (options: {
  baseUrl: string
  channel: string
  /** A product that is sold. */
  gtin: string
}) => Promise<Visited>

/** What a client saw. */
export type Visited = {
  box: { title: string; merchants: string[]; hasPrices: boolean }
  /** Why the box of a merchant that does not exist is hidden. */
  hidden: string
  /** GTINs of a round-up of the product and the first deal. */
  picks: string[]
  /** Discounts of two deals, and whether there are more. */
  discounts: number[]
  hasNextPage: boolean
  /** Status of an unknown channel, and the state in its body. */
  unknown: [status: number, state: string]
  oembedType: string
}

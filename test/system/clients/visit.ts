/** What both clients do, each with what its generator made. */
export type Visit = (options: {
  baseUrl: string
  key: string
  /** A product that is there, and one that is not. */
  gtin: string
  missingGtin: string
}) => Promise<Visited>

/** What a client saw. */
export type Visited = {
  channelNames: string[]
  /** Of all pages, two products each. */
  gtins: string[]
  pages: number
  merchants: string[]
  brand: string | undefined
  /** Statuses of a product that is not there, and of a call with a wrong key. */
  missing: number
  refused: number
}

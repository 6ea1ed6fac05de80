/** What readers got of a product in a widget. */
export const WIDGET_STATES = ['shown', 'hidden', 'unavailable'] as const
export type WidgetState = (typeof WIDGET_STATES)[number]

/** A product in a placement. `gtin` has 14 digits. `sub`: the sub-id of the placement, empty without one. */
export type CountedPlacement = Readonly<{ channelId: string; gtin: string; sub: string }>

/** `day`: the UTC day, as the number of days since 1970-01-01. */
type CountKey = CountedPlacement & Readonly<{ day: number }>

export type StateCounts = Readonly<Record<WidgetState, number>>

export function sumStates({ shown, hidden, unavailable }: StateCounts): number {
  return shown + hidden + unavailable
}

export type WidgetCount = CountKey & StateCounts
export type ClickCount = CountKey & Readonly<{ merchant: string; clicks: number }>

export type Counts = Readonly<{ widgets: readonly WidgetCount[]; clicks: readonly ClickCount[] }>

/** The first and the last day of a period. */
export type DayPeriod = Readonly<{ fromDay: number; untilDay: number }>

/** A product that readers' pages asked for. */
export type AskedProduct = StateCounts & Readonly<{ gtin: string }>

export type PlacementCount = StateCounts & Readonly<{ gtin: string; sub: string }>

export type PlacementClicks = Readonly<{ gtin: string; merchant: string; sub: string; clicks: number }>

export type ClickKeys = Readonly<{ by: 'gtin' | 'sub'; keys: readonly string[] }>

/** Counts of widgets and clicks (ADR 0034). */
export type CountStore = Readonly<{
  /**
   * Add counts, each to its day. Those of a product that is neither in the copy nor counted already are ignored. Return how many
   * were added without their sub-id, because the channel has too many of them on that day.
   */
  addCounts(counts: Counts): Promise<number>
  /** List the products of a period, the one with the most requests first. */
  listAskedProducts(
    channelId: string,
    request: DayPeriod & Readonly<{ limit: number }>,
  ): Promise<readonly AskedProduct[]>
  /** List the placements of products in a period, the one with the most requests first. */
  listPlacements(
    channelId: string,
    request: DayPeriod & Readonly<{ gtins: readonly string[]; limit?: number }>,
  ): Promise<readonly PlacementCount[]>
  /** List the clicks of a period by product, merchant and placement, the most first. */
  listClicks(
    channelId: string,
    request: DayPeriod & Readonly<{ limit: number }>,
  ): Promise<readonly PlacementClicks[]>
  /** Add up the clicks of a period for each key, which is a GTIN or sub-id. Those of all other keys are under `null`. */
  sumClicks(channelId: string, request: DayPeriod & ClickKeys): Promise<ReadonlyMap<string | null, number>>
  /** Find the last kept day on which a widget showed each product, by GTIN. */
  findLastShownDays(channelId: string, gtins: readonly string[]): Promise<ReadonlyMap<string, number>>
}>

/** Reads that may read every count of a period. */
export type CountReads = Omit<CountStore, 'addCounts'>

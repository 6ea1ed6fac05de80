import type { Context } from '../context.ts'
import type { DealCounts, DealQuery, ObservedDayCounts } from '../storage/store.ts'
import { EVIDENCE_EXPLANATION } from '../widgets/hidden-reasons.ts'
import { formatDealCount } from './fields.ts'
import { NOT_RECORDED, describeObservedDays } from '../explain/observed-prices.ts'

/** Deals of a grid by evidence, and the observed days of its channel; `null` when no history is kept. */
export type EvidenceData = Readonly<{
  claimed: DealCounts
  confirmed: DealCounts
  observedDays: ObservedDayCounts | null
}>

/** Count the deals by evidence; `null` for a grid whose options do not ask for observed falls. `counts`: of the query. */
export async function readEvidence(
  { store, shopFile }: Context,
  query: DealQuery,
  { counts, isAsked }: Readonly<{ counts: DealCounts; isAsked: boolean }>,
): Promise<EvidenceData | null> {
  if (!isAsked) return null
  const isObserved = query.evidence === 'observed'
  const other = { ...query, evidence: isObserved ? 'shop' : 'observed' } as const
  const otherCounts = await store.countDeals(other, shopFile.book.keys)
  return {
    claimed: isObserved ? otherCounts : counts,
    confirmed: isObserved ? counts : otherCounts,
    observedDays: await store.countObservedDays(query.channelId),
  }
}

/** Say how many deals are confirmed, and what is needed; empty when no observed falls are asked for. */
export function describeEvidence(data: EvidenceData | null): string {
  if (data === null) return ''
  const { claimed, confirmed, observedDays } = data
  const counts = `Deals with an observed price drop: ${formatDealCount(confirmed.total, confirmed)}. On sale according to the shops: ${formatDealCount(claimed.total, claimed)}.`
  const days =
    observedDays === null ? NOT_RECORDED : `This channel was ${describeObservedDays(observedDays)}.`
  return `${counts} ${EVIDENCE_EXPLANATION} ${days}`
}

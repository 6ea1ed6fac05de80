import { describeChannels } from './channels.ts'
import { describeCounts } from './counts.ts'
import { describeEvents } from './events.ts'
import { describeLookupLeases } from './lookup-leases.ts'
import { describeDealCounts } from './deal-counts.ts'
import { describeDealsProperty } from './deals-property.ts'
import { describeDeals } from './deals.ts'
import { describeFuture } from './future.ts'
import { describeHistoryTransfer } from './history-transfer.ts'
import { describeWalkLeases } from './walk-leases.ts'
import { describeWalkReasons } from './walk-reasons.ts'
import { describeLookups } from './lookups.ts'
import { describePictures } from './pictures.ts'
import { describeKeptDays } from './kept-days.ts'
import { describeObservedDeals } from './observed-deals.ts'
import { describePriceHistory } from './price-history.ts'
import { describePriceTimes } from './price-times.ts'
import { describeSearch } from './search.ts'
import type { Subject } from './subject.ts'
import { describeWalks } from './walks.ts'

/** Test the whole contract of a stored copy, on any database. */
export function describeCopy(subject: Subject): void {
  describeLookups(subject)
  describeChannels(subject)
  describeWalks(subject)
  describeWalkLeases(subject)
  describeWalkReasons(subject)
  describeLookupLeases(subject)
  describeFuture(subject)
  describeDeals(subject)
  describeDealsProperty(subject)
  describeDealCounts(subject)
  describePriceTimes(subject)
  describePriceHistory(subject)
  describeObservedDeals(subject)
  describeKeptDays(subject)
  describePictures(subject)
  describeSearch(subject)
  describeHistoryTransfer(subject)
  describeCounts(subject)
  describeEvents(subject)
}

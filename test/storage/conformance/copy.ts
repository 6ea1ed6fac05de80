import { describeChannels } from './channels.ts'
import { describeClaims } from './claims.ts'
import { describeDealCounts } from './deal-counts.ts'
import { describeDealsProperty } from './deals-property.ts'
import { describeDeals } from './deals.ts'
import { describeFuture } from './future.ts'
import { describeLeases } from './leases.ts'
import { describeLookups } from './lookups.ts'
import { describeSearch } from './search.ts'
import type { Subject } from './subject.ts'
import { describeWalks } from './walks.ts'

/** Everything that a stored copy does, whatever its database is. */
export function describeCopy(subject: Subject): void {
  describeLookups(subject)
  describeChannels(subject)
  describeWalks(subject)
  describeLeases(subject)
  describeClaims(subject)
  describeFuture(subject)
  describeDeals(subject)
  describeDealsProperty(subject)
  describeDealCounts(subject)
  describeSearch(subject)
}

import { isServed } from '../../config/config.ts'
import { pluralize } from '../../lib/plural.ts'
import { compareTexts } from '../../offers/ranking.ts'
import { foldCase } from '../../offers/text.ts'
import type { ChannelList, CopyStore } from '../../storage/store.ts'
import type { CheckReport } from './report.ts'

/** Products of each channel whose offers are counted. */
const MAX_PRODUCTS = 1_000

/** Report how many offers of the stored copy each network in `VITRINE_MAIL_NETWORKS` has: none may be a misspelt name. */
export async function checkMailNetworks(
  report: CheckReport,
  { store, storedList }: Readonly<{ store: Pick<CopyStore, 'searchProducts'>; storedList: ChannelList }>,
): Promise<void> {
  const counts = new Map((report.config.mailNetworks ?? []).map((network) => [network, 0]))
  const others = new Map<string, string>()
  for (const { id } of storedList.channels.filter(({ id }) => isServed(report.config, id))) {
    const entries = await store.searchProducts(id, '', MAX_PRODUCTS)
    for (const { network } of entries.flatMap(({ product }) => product?.offers ?? [])) {
      const key = foldCase(network)
      const count = counts.get(key)
      if (count === undefined) others.set(key, network)
      else counts.set(key, count + 1)
    }
  }
  const names = [...others.values()].filter((name) => name !== '').sort(compareTexts)
  const remedy = `Check the spelling in VITRINE_MAIL_NETWORKS. Other networks: ${names.join(', ') || 'none'}.`
  for (const [network, count] of counts)
    report.addOk(
      `newsletters, network ${network}`,
      `${pluralize(count, 'offer')} in the first 1,000 products of each channel`,
      count === 0 ? remedy : null,
    )
}

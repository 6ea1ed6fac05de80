import type { Offer } from '../../catalog/contract.ts'
import { isServed } from '../../config/config.ts'
import { readSubData } from '../../config/sub-ids-file.ts'
import { formatNumber, pluralize } from '../../lib/format.ts'
import { compareTexts } from '../../offers/ranking.ts'
import {
  type ExplainedSubRules,
  type SubPosition,
  type SubSkip,
  createSubRules,
  insertSub,
} from '../../offers/sub-ids.ts'
import { foldCase } from '../../offers/text.ts'
import type { ChannelList, CopyStore } from '../../storage/store.ts'
import type { CheckReport, LinkExample } from './report.ts'

/** Products of each channel whose links are checked. */
const MAX_PRODUCTS = 1_000

const EXAMPLE_SUB = 'EXAMPLE-SUB-ID'

const SKIP_TEXTS: Readonly<Record<SubSkip, string>> = {
  no_rule: 'the file has no rule for the network',
  other_form: 'no rule of the network fits the host and form',
  signed: 'signed, so any change could make it invalid',
  tagged: 'it already has a sub-id',
  too_long: 'too long',
}

const RULE_REMEDY =
  'Add a rule to the file of VITRINE_SUB_IDS_FILE, if the network has sub-ids (docs/publish/sub-ids.md).'

type NetworkLinks = {
  readonly name: string
  readonly firstLink: string
  linkCount: number
  readonly skips: Map<SubSkip, number>
  example: LinkExample | null
}

/** Read the file of `VITRINE_SUB_IDS_FILE`; `null` without one. @throws ConfigError that says what is wrong */
export function openSubRules(report: CheckReport): ExplainedSubRules | null {
  const { subIdsFile } = report.config
  if (subIdsFile === null) return null
  const { networks } = readSubData(subIdsFile)
  report.addOk('sub-ids', `rules for ${pluralize(networks.length, 'network')}`)
  return createSubRules(networks)
}

/** Report the links of each network in the stored copy, with one before and after. */
export async function checkSubIds(
  report: CheckReport,
  rules: ExplainedSubRules,
  { store, storedList }: Readonly<{ store: Pick<CopyStore, 'searchProducts'>; storedList: ChannelList }>,
): Promise<void> {
  const networks = new Map<string, NetworkLinks>()
  for (const { id } of storedList.channels.filter(({ id }) => isServed(report.config, id))) {
    const entries = await store.searchProducts(id, '', MAX_PRODUCTS)
    for (const offer of entries.flatMap(({ product }) => product?.offers ?? []))
      addLink(networks, offer, rules.examine(offer))
  }
  const sorted = [...networks].sort(([a], [b]) => compareTexts(a, b))
  for (const [, links] of sorted) reportNetwork(report, links)
}

function addLink(
  networks: Map<string, NetworkLinks>,
  { network: name, affiliateUrl: link }: Offer,
  result: SubPosition | SubSkip,
): void {
  const key = foldCase(name)
  const links = networks.get(key) ?? {
    name,
    firstLink: link,
    linkCount: 0,
    skips: new Map<SubSkip, number>(),
    example: null,
  }
  networks.set(key, links)
  links.linkCount++
  if (typeof result === 'string') links.skips.set(result, (links.skips.get(result) ?? 0) + 1)
  else links.example ??= { before: link, after: insertSub(link, result, EXAMPLE_SUB) }
}

function reportNetwork(
  report: CheckReport,
  { name, firstLink, linkCount, skips, example }: NetworkLinks,
): void {
  const skipCount = [...skips.values()].reduce((sum, count) => sum + count, 0)
  const count = `${formatNumber(linkCount - skipCount)} of ${pluralize(linkCount, 'link')} can carry a sub-id`
  const reasons = [...skips].map(([skip, skipped]) => `${formatNumber(skipped)} not: ${SKIP_TEXTS[skip]}`)
  const isUnknown = skips.has('no_rule') || skips.has('other_form')
  report.addOk(
    name === '' ? 'offers without a network' : `network ${name}`,
    [count, ...reasons].join('; '),
    isUnknown ? RULE_REMEDY : null,
    example ?? { before: firstLink, after: null },
  )
}

/** Products of each channel whose offers are counted. */
const MAX_MAIL_PRODUCTS = 1_000

/** Report how many offers of the stored copy each network in `VITRINE_MAIL_NETWORKS` has: none may be a misspelt name. */
export async function checkMailNetworks(
  report: CheckReport,
  { store, storedList }: Readonly<{ store: Pick<CopyStore, 'searchProducts'>; storedList: ChannelList }>,
): Promise<void> {
  const counts = new Map((report.config.mailNetworks ?? []).map((network) => [network, 0]))
  const others = new Map<string, string>()
  for (const { id } of storedList.channels.filter(({ id }) => isServed(report.config, id))) {
    const entries = await store.searchProducts(id, '', MAX_MAIL_PRODUCTS)
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

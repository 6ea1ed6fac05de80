import { MAX_IMAGES } from '../../catalog/contract.ts'
import type { FeedWarning } from '../../catalog/feed-report.ts'
import { MINUTE_MS, MINUTE_SECONDS, SECOND_MS } from '../../clock.ts'
import { type CommandContext, print } from '../../command.ts'
import { findFrameOriginHint } from '../../config/config.ts'
import { formatNumber, pluralize, toShellWord } from '../../lib/format.ts'
import { findShopWarnings, toTemplateCommand } from '../feeds/feed-warnings.ts'
import type { ImportProgress, ImportSummary } from '../import/import-feed.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { fetchOwnedChannels } from '../store/channels.ts'
import { fetchNetworkChannels, fetchNetworks } from '../store/networks.ts'
import { listMissingReferenceWarnings } from './networks.ts'
import { quote } from './output.ts'

/** Interval of progress output: redrawn on a terminal, a new line elsewhere. */
const PROGRESS_REDRAW_MS: number = SECOND_MS / 10
const PROGRESS_LINE_MS: number = 3 * SECOND_MS

/** Warn about what earns nothing or is shown twice, and a channel without an address. Say what to do next. */
export async function findHints(
  { config }: CommandContext,
  store: CatalogStore,
  { channelId, pageNetworks }: ImportSummary,
): Promise<readonly string[]> {
  const { read } = store
  const channel = (await read(fetchOwnedChannels)).find(({ id }) => id === channelId)
  const networkChannels = await read((reader) => fetchNetworkChannels(reader, { channelId }))
  const networks = (await read(fetchNetworks)).filter(({ name }) => pageNetworks.byTemplate.includes(name))
  const frameOriginHint = channel === undefined ? null : findFrameOriginHint(config, channel)
  const isOwn = ({ subject }: FeedWarning): boolean =>
    !subject.startsWith('network ') || pageNetworks.byTemplate.includes(subject.slice('network '.length))
  const warnings = (await findShopWarnings(read)).filter(isOwn)
  return [
    ...networks.flatMap((network) => listMissingReferenceWarnings(network, networkChannels)),
    ...warnings.flatMap(({ subject, message, remedy }) => [`${subject}: ${message}:`, `  ${remedy}`]),
    ...(frameOriginHint === null ? [] : [frameOriginHint]),
    ...(config.catalog.kind === 'embedded'
      ? ['Boxes and grids show the import after the next walk. To walk now: vitrine sync']
      : []),
  ]
}

export function printSummary(context: CommandContext, summary: ImportSummary): void {
  const { feed, format, products, offers, removedOffers, rejected, rejectsPath: rejects } = summary
  const { channelId: channel, leftOutPictures, replacedSample, unassignedNetworks, pageNetworks } = summary
  const { guessedEncoding } = summary
  if (!context.isJson) for (const line of describeSummary(summary)) context.io.err(line)
  const counts = {
    feed,
    format,
    guessedEncoding,
    products,
    offers,
    removedOffers,
    rejected,
    leftOutPictures,
    replacedSample,
    unassignedNetworks,
  }
  const { untracked: untrackedNetworks } = pageNetworks
  print(context, { ...counts, channel, rejects, untrackedNetworks }, [
    ...(rejects === null ? [] : [`rejected rows: ${rejects}`]),
    `${pluralize(products, 'product')}, ${pluralize(offers, 'offer')}, ${formatNumber(rejected)} rejected; channel ${channel}`,
  ])
}

/** The letters of a text may be right in several encodings. */
export function describeGuessedEncoding(encoding: string): string {
  return `The encoding ${encoding} is guessed. If letters are wrong, set the right one with --encoding.`
}

function describeSummary(summary: ImportSummary): readonly string[] {
  const { format, hasLinkMerchants, replacedSample, removedOffers, pageNetworks, channelId } = summary
  const { leftOutPictures, guessedEncoding } = summary
  const lines = [`Feed ${summary.feed}, read as ${format}.`]
  if (guessedEncoding !== null) lines.push(describeGuessedEncoding(guessedEncoding))
  if (hasLinkMerchants)
    lines.push(
      'The feed names no shops, so they are named after the hosts of their links. Set a name with --merchant NAME.',
    )
  if (replacedSample) lines.push('The sample data was replaced.')
  if (removedOffers > 0)
    lines.push(
      `${pluralize(removedOffers, 'older offer')} of the feed removed: their rows are gone, were rejected, or have another link, currency or shop.`,
    )
  if (leftOutPictures > 0)
    lines.push(`${pluralize(leftOutPictures, 'picture')} left out: a product keeps its first ${MAX_IMAGES}.`)
  for (const network of pageNetworks.untracked)
    lines.push(
      `Links in the network ${quote(network)} lead to the shops' own pages and earn no commission, because the network has no link template. Set one (docs/operate/catalog-service.md#link-templates):`,
      `  ${toTemplateCommand(network)}`,
    )
  for (const network of summary.unassignedNetworks)
    lines.push(
      `The channel has no network channel of ${quote(network)} and does not show its offers, which are stored. Assign it again: vitrine catalog networks assign ${toShellWord(network)} --channel ${channelId}`,
    )
  return lines
}

export function createProgressPrinter({ clock, io }: CommandContext): (progress: ImportProgress) => void {
  const intervalMs = io.isTerminal ? PROGRESS_REDRAW_MS : PROGRESS_LINE_MS
  const startedAtMs = clock.nowMs()
  let shownAtMs = startedAtMs
  return (progress) => {
    const nowMs = clock.nowMs()
    if (nowMs - shownAtMs < intervalMs) return
    shownAtMs = nowMs
    const line = describeProgress(progress, nowMs - startedAtMs)
    if (io.isTerminal) io.drawProgress(line)
    else io.err(line)
  }
}

/** Estimate the time left from the bytes left, because the number of rows is unknown. */
function describeProgress(progress: ImportProgress, elapsedMs: number): string {
  const { readBytes, totalBytes, rows, products, rejected } = progress
  const share = Math.min(1, readBytes / totalBytes)
  const counts = `${Math.floor(100 * share)} % read, ${pluralize(products, 'product')}, ${formatNumber(rejected)} rejected`
  const speed = formatNumber(Math.round((rows * SECOND_MS) / Math.max(1, elapsedMs)))
  const remaining = share > 0 ? `, ${formatDuration(elapsedMs * (1 / share - 1))} left` : ''
  return `${counts}; ${speed} rows/s${remaining}`
}

function formatDuration(durationMs: number): string {
  const seconds = Math.ceil(durationMs / SECOND_MS)
  if (durationMs < MINUTE_MS) return `${seconds} s`
  return `${Math.floor(seconds / MINUTE_SECONDS)} min ${seconds % MINUTE_SECONDS} s`
}

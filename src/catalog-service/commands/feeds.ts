import { rmSync } from 'node:fs'
import type { Command } from 'commander'
import { describeFeedAddress, parseFeedAddress } from '../feeds/feed-address.ts'
import { readFeedReport } from '../feeds/feed-warnings.ts'
import { getFeedsFolder, getRejectsPath } from '../feeds/run-feed.ts'
import { parseFeedName, prepareTarget } from '../import/feed-target.ts'
import { DEFAULT_MAX_REMOVED_PERCENT, REJECTED_MARK } from '../import/import-feed.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { removeFeedAttempts } from '../store/feed-attempts.ts'
import {
  type Feed,
  type FeedSettings,
  fetchFeeds,
  findFeed,
  insertFeed,
  removeFeed,
  updateFeed,
} from '../store/feeds.ts'
import type { Catalog } from '../store/schema.ts'
import { HOUR_SECONDS } from '../../clock.ts'
import { createLeaseOwner } from '../../database/leases.ts'
import { FeedHeldError, StoreError, UsageError } from '../../errors.ts'
import { formatNumber, pluralize } from '../../lib/format.ts'
import { type FeedState, describeReasons } from '../../catalog/feed-report.ts'
import { type CommandContext, type ExitCode, type Runner, addExamples, print } from '../../command.ts'
import { type Confirmation, EXAMPLE_CHANNEL, noneToNull } from './arguments.ts'
import {
  type HeaderOptions,
  type ReadOptions,
  addHeaderOption,
  addReadOptions,
  formatInterval,
  parseInterval,
  parseMaxRemoved,
} from './feed-options.ts'
import { createProgressPrinter, findHints, printSummary } from './import-output.ts'
import { type CommandResult, type Listing, formatMinute, quote, toIso, toIsoOrNull } from './output.ts'
import {
  type ChangeTransaction,
  createChangeAction,
  createListAction,
  getChannel,
  requireOption,
  withCatalog,
} from './store.ts'
import { addTry } from './try-feed.ts'

/** Networks update their feeds a few times a day. */
const DEFAULT_INTERVAL_SECONDS: number = 6 * HOUR_SECONDS

const CLEAR_HINT = '; none: remove the setting'

export function addFeeds(catalog: Command, run: Runner): void {
  const group = catalog
    .command('feeds')
    .description('manage feeds: addresses that a running server fetches on a schedule')
  group
    .command('list')
    .description('list the feeds with their last and next run')
    .action(
      run(async (context, options) =>
        createListAction('feeds', (store) => listFeeds(context, store))(context, options as object),
      ),
    )
  addFeedOptions(
    group
      .command('add')
      .description('add a feed; a running server fetches it within a minute')
      .argument('<name>', 'name of the feed', parseFeedName)
      .requiredOption(
        '--url <url>',
        'address of the feed; ${AWIN_KEY} is filled from the secret VITRINE_FEED_AWIN_KEY',
        parseFeedAddress,
      )
      .option('--channel <id>', 'id of the channel that the feed is for; required when there are several'),
  ).action(run(createChangeAction(add)))
  addFeedOptions(
    group
      .command('set <feed>')
      .description('change the settings of a feed for its next run')
      .option('--url <url>', 'new address', parseFeedAddress)
      .option('--channel <id>', 'id of the channel that the feed is for'),
    CLEAR_HINT,
  )
    .hook('preAction', requireOption('one or more options; "vitrine catalog feeds set --help" lists them'))
    .action(run(createChangeAction(set)))
  group
    .command('run <feed>')
    .description('fetch and import a feed now, without waiting for its schedule')
    .option('--accept', 'import the file even if it is unchanged, and accept any number of removed offers')
    .action(run(runOne))
  group
    .command('remove <feed>')
    .description('remove a feed with its offers')
    .option('--yes', 'remove it even if it has offers')
    .action(run(removeOne))
  addTry(group, run)
  addExamples(group, 'vitrine catalog feeds', [
    'vitrine catalog feeds list',
    `vitrine catalog feeds add awin-main --url 'https://productdata.awin.com/datafeed/download/apikey/\${AWIN_KEY}/…'`,
    `vitrine catalog feeds add kopje --url https://kopje.example/feed.xml --channel ${EXAMPLE_CHANNEL} --network awin --every 12h`,
    'vitrine catalog feeds try feed.csv --map map.json',
    'vitrine catalog feeds set kopje --every 3h',
    'vitrine catalog feeds run kopje',
    'vitrine catalog feeds run kopje --accept',
    'vitrine catalog feeds remove kopje --yes',
  ])
}

/** Add the options of `add` and `set`. `clearHint`: how a command removes a setting. */
function addFeedOptions(command: Command, clearHint: string = ''): Command {
  const describeDefault = (text: string): string => (clearHint === '' ? `; default: ${text}` : '')
  return addHeaderOption(addReadOptions(command, clearHint), clearHint)
    .option(
      '--every <time>',
      `how often it is fetched, such as 30m, 6h or 1d; none: only by "feeds run"${describeDefault('6h')}`,
      parseIntervalOrNone,
    )
    .option(
      '--max-removed <percent>',
      `hold a run that would remove a larger share of the feed's offers${describeDefault('50%')}`,
      parseMaxRemoved,
    )
}

function parseIntervalOrNone(text: string): number | 'none' {
  return text === 'none' ? text : parseInterval(text)
}

type FeedOptions = ReadOptions &
  HeaderOptions &
  Readonly<{
    url?: string
    channel?: string
    every?: number | 'none'
    maxRemoved?: number
  }>

/** Convert options to settings; those that were not given are `undefined`. */
function toSettings(options: FeedOptions) {
  return {
    url: options.url,
    format: noneToNull(options.format),
    map: noneToNull(options.map),
    network: noneToNull(options.network),
    merchant: noneToNull(options.merchant),
    currency: noneToNull(options.currency),
    decimal: noneToNull(options.decimal),
    encoding: noneToNull(options.encoding),
    everySeconds: noneToNull(options.every),
    headerFile: noneToNull(options.headerFile),
    maxRemovedPercent: options.maxRemoved,
  }
}

const DEFAULT_SETTINGS = {
  format: null,
  map: null,
  network: null,
  merchant: null,
  currency: null,
  decimal: null,
  encoding: null,
  headerFile: null,
  everySeconds: DEFAULT_INTERVAL_SECONDS,
  maxRemovedPercent: DEFAULT_MAX_REMOVED_PERCENT,
} as const

async function add(
  { database, nowMs }: ChangeTransaction,
  name: string,
  options: FeedOptions & Readonly<{ url: string }>,
): Promise<CommandResult> {
  if ((await findFeed(database, name)) !== undefined)
    throw new UsageError(`a feed ${quote(name)} already exists; change it with "vitrine catalog feeds set"`)
  const target = await prepareTarget(database, { channelId: options.channel, nowMs })
  const { organizationId, channelId, replacedSample } = target
  const given = Object.entries(toSettings(options)).filter(([, value]) => value !== undefined)
  const settings: FeedSettings = {
    ...DEFAULT_SETTINGS,
    ...(Object.fromEntries(given) as Partial<FeedSettings>),
    url: options.url,
    channelId,
  }
  await insertFeed(database, { ...settings, name, organizationId, createdAtMs: nowMs })
  const { json, line } = describeFeed(name, settings)
  return {
    json: { ...json, removedSample: replacedSample },
    line,
    notes: [
      ...(replacedSample ? ['The sample data was removed.'] : []),
      settings.everySeconds === null
        ? `Fetch it: vitrine catalog feeds run ${name}`
        : `A running server fetches it within a minute. To fetch it now: vitrine catalog feeds run ${name}`,
    ],
  }
}

async function set(
  { database }: ChangeTransaction,
  name: string,
  options: FeedOptions,
): Promise<CommandResult> {
  const feed = await getFeed(database, name)
  const channelId = await findNewChannelId(database, feed, options.channel)
  const settings = toSettings(options)
  // A feed that was imported from files gets a schedule with its first address.
  const isFirstAddress = feed.url === null && options.url !== undefined && options.every === undefined
  await updateFeed(database, feed.id, {
    ...settings,
    channelId,
    ...(isFirstAddress && { everySeconds: DEFAULT_INTERVAL_SECONDS }),
  })
  const changed = await getFeed(database, name)
  const command = changed.url === null ? `import FILE --feed ${name}` : `feeds run ${name}`
  return {
    ...describeFeed(name, changed),
    notes: [`To import it with the new settings now: vitrine catalog ${command}`],
  }
}

/** @throws UsageError when the channel is unknown or belongs to another organization */
async function findNewChannelId(
  database: Catalog,
  { name, organizationId }: Feed,
  idText: string | undefined,
): Promise<string | undefined> {
  if (idText === undefined) return undefined
  const channel = await getChannel(database, idText)
  if (channel.organizationId === organizationId) return channel.id
  throw new UsageError(`--channel: the feed ${quote(name)} belongs to another organization`)
}

function describeFeed(name: string, { url, everySeconds, channelId }: FeedSettings) {
  const address = url === null ? null : describeFeedAddress(url)
  const schedule = everySeconds === null ? 'no schedule' : `every ${formatInterval(everySeconds)}`
  return {
    json: { name, address, channelId, everySeconds },
    line: `${name}  ${address ?? 'no address'}  ${schedule}; channel ${channelId ?? 'none'}`,
  }
}

/** @throws UsageError that lists the feeds */
async function getFeed(database: Catalog, name: string): Promise<Feed> {
  const feed = await findFeed(database, name)
  if (feed !== undefined) return feed
  const names = (await fetchFeeds(database)).map((other) => other.name)
  const existing = names.length === 0 ? 'there are none yet' : `there are ${names.join(', ')}`
  throw new UsageError(`there is no feed ${quote(name)}; ${existing}`)
}

/** @throws what `runFeed` throws */
async function runOne(
  context: CommandContext,
  name: string,
  { accept = false }: Readonly<{ accept?: boolean }>,
): Promise<ExitCode | void> {
  const { config, io, secrets } = context
  const { runFeed } = await import('../feeds/run-feed.ts')
  return withCatalog(context, async (store) => {
    const { id, url } = await store.read((reader) => getFeed(reader, name))
    if (url === null)
      throw new UsageError(
        `the feed ${quote(name)} has no address: use "vitrine catalog import FILE --feed ${name}", or give it one with "vitrine catalog feeds set ${name} --url URL"`,
      )
    const run = await runFeed({
      store,
      feedId: id,
      owner: createLeaseOwner(),
      secrets: secrets.feedSecrets,
      proxies: secrets.proxies,
      folder: getFeedsFolder(config.catalogDatabase),
      isLossAccepted: accept,
      signal: io.signal,
      onDownload: (bytes) => io.drawProgress(`${formatNumber(Math.round(bytes / 1e3))} kB received`),
      onProgress: createProgressPrinter(context),
    })
      .catch((error: unknown) => {
        throw addAcceptHint(error, name)
      })
      .finally(() => io.drawProgress(''))
    if (run.kind === 'imported') {
      printSummary(context, run.summary)
      for (const hint of await findHints(context, store, run.summary)) io.err(hint)
      return 0
    }
    if (run.kind === 'skipped')
      throw new StoreError(`another process is running the feed ${quote(name)} now`, {
        remedy: 'Nothing was changed; try again when it has finished.',
      })
    const { productCount: products, offerCount: offers, channelId: channel } = run.feed
    print(context, { feed: name, unchanged: true, products, offers, channel }, [
      `unchanged since the last run: ${pluralize(products, 'product')}, ${pluralize(offers, 'offer')}; channel ${channel ?? ''}`,
    ])
    return 0
  })
}

function addAcceptHint(error: unknown, name: string): unknown {
  if (!(error instanceof FeedHeldError)) return error
  const check = error.message.includes(REJECTED_MARK) ? `See why: vitrine catalog feeds try ${name}. ` : ''
  return new FeedHeldError(
    `${error.message}. ${check}Only if the feed is right: vitrine catalog feeds run ${name} --accept`,
  )
}

async function removeOne(
  context: CommandContext,
  name: string,
  { yes = false }: Confirmation,
): Promise<void> {
  await withCatalog(context, async (store) => {
    const { id, offerCount } = await store.read((reader) => getFeed(reader, name))
    if (offerCount > 0 && !yes)
      throw new UsageError(
        `the feed ${quote(name)} has ${pluralize(offerCount, 'offer')}, which would be removed, too; add --yes`,
      )
    const offers = await store.write((database) => removeFeed(database, id))
    await removeFeedAttempts(store, [id])
    rmSync(getRejectsPath(getFeedsFolder(context.config.catalogDatabase), name), { force: true })
    print(context, { name, removed: true, offers }, [`removed ${name}`])
    context.io.err(
      `${pluralize(offers, 'offer')} removed. Boxes keep them until the next walk. To walk now: vitrine sync`,
    )
  })
}

async function listFeeds({ config, isJson, io }: CommandContext, store: CatalogStore): Promise<Listing> {
  const { priceMaxAgeSeconds } = config
  const { feeds: states, warnings } = await readFeedReport(store, { priceMaxAgeSeconds, hasWarnings: true })
  if (!isJson)
    for (const { subject, message, remedy } of warnings) {
      io.err(`${subject}: ${message}:`)
      io.err(`  ${remedy}`)
    }
  return {
    rows: states.map((state) => ({
      ...toJsonState(state),
      warnings: warnings.filter(({ subject }) => subject === `feed ${state.name}`),
    })),
    entries: states.map((state) => toEntry(state, store.clock.nowMs())),
    emptyMessage:
      'There are no feeds yet. Add one with "vitrine catalog feeds add NAME --url URL", or run "vitrine catalog import FILE".',
  }
}

function toJsonState({ fetchedAtMs, attemptedAtMs, nextRunAtMs, ...state }: FeedState) {
  return {
    ...state,
    fetchedAt: toIsoOrNull(fetchedAtMs),
    attemptedAt: toIsoOrNull(attemptedAtMs),
    nextRunAt: toIsoOrNull(nextRunAtMs),
  }
}

function toEntry(state: FeedState, nowMs: number): readonly string[] {
  const { name, status, address, everySeconds, channelId, products, offers, rejected, error } = state
  const source = address ?? 'imported by a command'
  const schedule = everySeconds === null || address === null ? '' : `, every ${formatInterval(everySeconds)}`
  const counts = `${pluralize(products, 'product')}, ${pluralize(offers, 'offer')}, ${formatNumber(rejected)} rejected, ${formatNumber(state.removed)} removed`
  const result =
    state.fetchedAtMs === null
      ? 'no success yet'
      : `last success ${formatTimeOrNever(state.fetchedAtMs)}: ${counts}`
  return [
    `${name}  ${status}`,
    `${source}${schedule}; channel ${channelId ?? 'none'}${describeReading(state)}`,
    result,
    ...describeTopReasons(state),
    `last attempt ${formatTimeOrNever(state.attemptedAtMs)}` +
      (state.nextRunAtMs === null
        ? ''
        : `; next run ${state.nextRunAtMs <= nowMs ? 'due now' : formatTimeOrNever(state.nextRunAtMs)}`),
    ...(error === null ? [] : [error]),
  ]
}

/** Name the most frequent reasons for rejects, and the file with all of them. */
function describeTopReasons({ topReasons, rejectsPath }: FeedState): readonly string[] {
  if (topReasons.length === 0) return []
  const reasons = describeReasons(topReasons).join('; ')
  return [`rejected most often: ${reasons}${rejectsPath === null ? '' : `; all: ${rejectsPath}`}`]
}

function describeReading(state: FeedState): string {
  const { network, merchant, format, currency, decimal, encoding } = state
  const settings = Object.entries({ network, merchant, format, currency, decimal, encoding }).flatMap(
    ([name, value]) => (value === null ? [] : [`${name} ${value}`]),
  )
  return settings.length === 0 ? '' : `; ${settings.join(', ')}`
}

function formatTimeOrNever(timeMs: number | null): string {
  return timeMs === null ? 'never' : formatMinute(toIso(timeMs))
}

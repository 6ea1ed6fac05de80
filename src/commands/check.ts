import { type CallGate, createCallGate } from '../catalog/call-gate.ts'
import { type CatalogClient, createCatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import { createSharedLedger } from '../catalog/quota-ledger.ts'
import type { CatalogPlace } from '../context.ts'
import { SECOND_MS } from '../clock.ts'
import { formatTime } from '../widgets/format.ts'
import type { BusyTimeouts } from '../copy/dialects.ts'
import { describeStoreFailure } from '../copy/healing-store.ts'
import { openSqlStore } from '../copy/sql-store.ts'
import type { CopyState, CopyStore } from '../copy/store.ts'
import { CatalogStatusError, ConfigError, StoreError, VitrineError } from '../errors.ts'
import { openCatalog, toLocalUrl } from './catalog-place.ts'
import { checkListener } from './check-listener.ts'
import { findCures, findRemedy } from './cures.ts'
import type { CommandContext, ExitCode } from './command.ts'
import { toPlain, toPlainJson } from './plain-text.ts'
import { findCatalogCures, judgeCatalog } from './judge-catalog.ts'
import { checkProxy } from './check-proxy.ts'
import { judgeQuota } from './judge-quota.ts'
import { judgeStore } from './judge-store.ts'
import { findUnframedHint } from './unframed.ts'

/** One thing that was tried. `cure` says what to do when it is wrong, or may be unexpected. */
type Finding = Readonly<{ subject: string; isGood: boolean; found: string; cure: string | null }>

/** What was found so far, and what to do about each failure, by code. */
type Report = Readonly<{
  findings: Finding[]
  cures: Readonly<Record<string, string>>
  /** Is the catalog the embedded one? */
  isEmbedded: boolean
}>

/** A check never waits for a server as long as a walk does: whoever runs it wants to know now. */
const TIMEOUTS: BusyTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/** Status of the embedded catalog while it has no data. */
const EMPTY_STATUS = 503

/**
 * `vitrine check`: tries settings, database, catalog, key and channels, and prints what is wrong and how to mend it.
 * Exit code 1 if anything is.
 * @throws ConfigError when the key file is not usable: wrong settings stop every command with exit code 78.
 */
export async function runCheck(command: CommandContext): Promise<ExitCode> {
  const { config } = command
  const isEmbedded = config.catalog.kind === 'embedded'
  const listener = await checkListener(config, command.clock)
  const findings: Finding[] = [
    good('settings', describeSettings(command)),
    { subject: 'listener', isGood: listener.cure === null, ...listener },
  ]
  const report: Report = { findings, cures: findCures(config), isEmbedded }
  const own: Report = { ...report, cures: { ...report.cures, ...findCatalogCures(config.catalogDatabase) } }
  const catalog = await attempt(own, 'catalog service', () =>
    openCatalog(command, {
      publicUrl: config.publicUrl ?? toLocalUrl(config.host, config.port),
      mayPutSample: false,
    }),
  )
  if (catalog !== undefined) {
    try {
      await checkCatalog(command, report, catalog.place)
      if (isEmbedded) findings.push(...((await attempt(own, 'catalog', () => judgeCatalog(command))) ?? []))
    } finally {
      await catalog.close()
    }
  }
  findings.push(...(await checkProxy(command)))
  print(command, findings)
  return findings.every((finding) => finding.isGood) ? 0 : 1
}

async function checkCatalog(command: CommandContext, report: Report, place: CatalogPlace): Promise<void> {
  const { config } = command
  const { findings } = report
  const store = await attempt(report, 'stored copy', () =>
    openSqlStore({ database: config.database, catalog: place.identity, timeouts: TIMEOUTS }),
  )
  if (store !== undefined) {
    const judged = await attempt(report, 'stored copy', () => judgeStore(config, store, report.cures))
    if (judged !== undefined) findings.push({ subject: 'stored copy', ...judged })
  }
  const gate = createGate(command, report, store)
  const client = createClient(command, place, gate)
  try {
    const listed = await attempt(report, 'catalog and key', () => client.fetchChannels())
    if (listed !== undefined) findings.push(good('catalog and key', 'the catalog answers and takes the key'))
    findings.push({ subject: 'request limit', ...judgeQuota(await gate.readState(), command.clock.nowMs()) })
    const stored = await attempt(report, 'stored copy', async () => store?.findChannelList())
    const channels = listed?.value ?? stored?.channels
    const isListed = listed !== undefined
    if (channels !== undefined) await checkChannels(command, report, { channels, isListed, store })
  } finally {
    await client.close()
    await store?.close()
  }
}

/** The pause and the counts are those of the server beside it: a check calls nothing that the server may not. */
function createGate(
  { config, clock }: CommandContext,
  { findings, cures }: Report,
  store: CopyStore | undefined,
): CallGate {
  const onFailure = (error: unknown): void => {
    if (findings.some(({ subject, isGood }) => subject === 'stored copy' && !isGood)) return
    const found = `it cannot be written: ${describeStoreFailure(error)}`
    findings.push(bad('stored copy', found, cures['VITRINE_STORE_FAILED'] ?? ''))
  }
  return createCallGate({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: config.catalogDailyLimit,
    ...(store && { ledger: createSharedLedger(store, { clock, onFailure }) }),
  })
}

function createClient({ config, clock }: CommandContext, place: CatalogPlace, gate: CallGate): CatalogClient {
  return createCatalogClient({
    baseUrl: place.baseUrl,
    key: place.key,
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin: 'http://localhost',
    clock,
    gate,
  })
}

async function checkChannels(
  command: CommandContext,
  report: Report,
  known: Readonly<{ channels: readonly Channel[]; isListed: boolean; store: CopyStore | undefined }>,
): Promise<void> {
  const { findings } = report
  const wanted = command.config.channels
  const served = known.channels.filter(({ id }) => wanted === null || wanted.includes(id))
  const missing = (wanted ?? []).filter((id) => !known.channels.some((channel) => channel.id === id))
  for (const id of missing) {
    findings.push(
      bad(
        `channel ${id}`,
        'the catalog does not list it',
        'Take it out of VITRINE_CHANNELS, or mend the id.',
      ),
    )
  }
  if (served.length === 0 && missing.length === 0) {
    findings.push(
      bad('channels', 'none', 'Make a channel in the catalog, or import a feed: vitrine catalog import FILE'),
    )
  }
  for (const channel of served) {
    const subject = `channel ${channel.name} (${channel.id})`
    const state = await attempt(report, subject, async () => ({
      copy: await known.store?.getCopyState(channel.id),
    }))
    // Where the catalog did not answer, only a channel that was walked is worth a line.
    if (state === undefined || !(known.isListed || isWalked(state.copy))) continue
    const hint = findUnframedHint(command.config, channel)
    findings.push(judgeCopy(report, { subject, hint }, state.copy))
  }
}

function isWalked(state: CopyState | undefined): boolean {
  return state !== undefined && (state.completedAtMs !== null || state.failure !== null)
}

function judgeCopy(
  { cures }: Report,
  { subject, hint }: Readonly<{ subject: string; hint: string | null }>,
  state: CopyState | undefined,
): Finding {
  if (state === undefined) return { ...good(subject, 'listed'), cure: hint }
  const walked =
    state.completedAtMs === null
      ? 'not walked yet'
      : `${state.productCount} products, ${state.dealCount} with a deal, walked ${formatTime(state.completedAtMs, 'en')}`
  if (state.failure === null) return { ...good(subject, walked), cure: hint }
  const cure = cures[state.failure] ?? 'See docs/errors.md.'
  return bad(subject, `${walked}; the last walk failed with ${state.failure}`, cure)
}

function describeSettings({ config }: CommandContext): string {
  return config.catalog.kind === 'embedded'
    ? 'embedded catalog service'
    : `catalog at ${new URL(config.catalog.url).origin}`
}

async function attempt<T>(
  { findings, cures, isEmbedded }: Report,
  subject: string,
  action: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof VitrineError) || error instanceof ConfigError) throw error
    const isEmpty = isEmbedded && error instanceof CatalogStatusError && error.upstreamStatus === EMPTY_STATUS
    const found = isEmpty ? 'it is empty' : `${describe(error)} (${error.code})`
    const remedy = findRemedy(error, subject) ?? cures[error.code] ?? 'See docs/errors.md.'
    findings.push(bad(subject, found, remedy))
    return undefined
  }
}

function good(subject: string, found: string): Finding {
  return { subject, isGood: true, found, cure: null }
}

function bad(subject: string, found: string, cure: string): Finding {
  return { subject, isGood: false, found, cure }
}

function print({ io, json }: CommandContext, findings: readonly Finding[]): void {
  if (json) return io.out(toPlainJson(findings))
  for (const { subject, isGood, found, cure } of findings) {
    io.out(toPlain(`${isGood ? 'good ' : 'WRONG'}  ${subject}: ${found}`))
    if (cure !== null) io.out(`       ${cure}`)
  }
}

/** A failure of the store, and what its database said; of the catalog's only our own words are told. */
function describe(error: VitrineError): string {
  if (!(error instanceof StoreError) || error.remedy !== null) return error.message
  const reason = describeStoreFailure(error)
  return error.message.endsWith(reason) ? error.message : `${error.message}: ${reason}`
}

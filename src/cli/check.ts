import { type CallGate, createCallGate } from '../catalog/call-gate.ts'
import type { CatalogPlace } from '../context.ts'
import { SECOND_MS } from '../clock.ts'
import type { BusyTimeouts } from '../storage/dialects.ts'
import { describeStoreFailure } from '../storage/reconnecting-store.ts'
import { openSqlStore } from '../storage/sql-store.ts'
import type { CopyStore } from '../storage/store.ts'
import { StoreError } from '../errors.ts'
import { openCatalog, toLocalUrl } from './catalog/place.ts'
import { checkListener } from './check-listener.ts'
import { findCures } from './cures.ts'
import { createCommandClient } from './command-client.ts'
import type { CommandContext, ExitCode } from './command.ts'
import { toPlain, toPlainJson } from './output.ts'
import { findCatalogCures, judgeCatalog } from './judge-catalog.ts'
import { checkProxy } from './check-proxy.ts'
import { judgeClocks } from './judge-clocks.ts'
import { judgeQuota } from './judge-quota.ts'
import { type Finding, type Report, attempt, bad, good } from './findings.ts'
import { checkChannels } from './check-channels.ts'
import { judgeStore } from './judge-store.ts'

/** A check waits for a database server for a shorter time than a walk does. */
const TIMEOUTS: BusyTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/**
 * `vitrine check`: tries settings, database, catalog, key and channels, and prints what is wrong and how to mend it.
 * Exit code 1 if anything is.
 * @throws ConfigError when the key file is not usable: wrong settings stop every command with exit code 78.
 */
export async function runCheck(command: CommandContext): Promise<ExitCode> {
  const { config } = command
  const isEmbedded = config.catalog.kind === 'embedded'
  const findings: Finding[] = [
    good('settings', describeSettings(command)),
    await checkListener(config, command.clock),
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
    if (judged !== undefined) findings.push(judged)
  }
  const gate = createGate(command, report, store)
  let aheadMs: number | undefined
  const onClockDifference = (differenceMs: number): void => void (aheadMs = differenceMs)
  const client = createCommandClient(command, place, { gate, onClockDifference })
  try {
    const listed = await attempt(report, 'catalog and key', () => client.fetchChannels())
    if (listed !== undefined) findings.push(good('catalog and key', 'the catalog answers and takes the key'))
    findings.push(...(await judgeClocks({ clock: command.clock, store, catalogAheadMs: aheadMs })))
    findings.push(judgeQuota(await gate.readState(), command.clock.nowMs()))
    const stored = await attempt(report, 'stored copy', async () => store?.findChannelList())
    await checkChannels(command, report, { listed: listed?.value, stored, store })
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
  const onStoreFailure = (error: unknown): void => {
    if (findings.some(({ subject, isGood }) => subject === 'stored copy' && !isGood)) return
    const found = `it cannot be written: ${describeStoreFailure(error)}`
    findings.push(bad('stored copy', found, cures[StoreError.code] ?? ''))
  }
  return createCallGate({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: config.catalogDailyLimit,
    ...(store && { store, onStoreFailure }),
  })
}

function describeSettings({ config }: CommandContext): string {
  return config.catalog.kind === 'embedded'
    ? 'embedded catalog service'
    : `catalog at ${new URL(config.catalog.url).origin}`
}

function print({ io, json }: CommandContext, findings: readonly Finding[]): void {
  if (json) return io.out(toPlainJson(findings))
  for (const { subject, isGood, found, cure } of findings) {
    io.out(toPlain(`${isGood ? 'good ' : 'WRONG'}  ${subject}: ${found}`))
    if (cure !== null) io.out(`       ${cure}`)
  }
}

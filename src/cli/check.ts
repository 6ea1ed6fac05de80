import { createCallGate } from '../catalog/call-gate.ts'
import { SECOND_MS } from '../clock.ts'
import type { CatalogPlace } from '../context.ts'
import { StoreError } from '../errors.ts'
import type { BusyTimeouts } from '../storage/dialects.ts'
import { describeStoreFailure } from '../storage/unavailable.ts'
import { openSqlStore } from '../storage/sql-store.ts'
import { checkClocks, checkEmbeddedCatalog, checkQuota } from './checks/catalog.ts'
import { type Finding, Report, findRemedyByCode } from './checks/findings.ts'
import { checkListener, checkProxy } from './checks/listener.ts'
import { checkChannels, checkStoredCopy } from './checks/stored-copy.ts'
import { type CommandContext, type ExitCode, print } from './command.ts'
import { createCommandClient, openCatalog } from './open-catalog.ts'

/** A check waits for a database server for a shorter time than a walk does. */
const TIMEOUTS: BusyTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/**
 * `vitrine check`: tries settings, database, catalog, key and channels, and prints what is wrong and how to mend it.
 * Exit code 1 if anything is.
 * @throws ConfigError when the key file is not usable: wrong settings stop every command with exit code 78.
 */
export async function runCheck(command: CommandContext): Promise<ExitCode> {
  const { config } = command
  const { catalog: address } = config
  const isEmbedded = address.kind === 'embedded'
  const report = new Report(config)
  report.good(
    'settings',
    isEmbedded ? 'embedded catalog service' : `catalog at ${new URL(address.url).origin}`,
  )
  await checkListener(command, report)
  const opened = await report.attempt('catalog service', () => openCatalog(command))
  if (opened !== undefined) {
    try {
      await checkCatalog(command, report, opened.catalog)
      if (isEmbedded) await report.attempt('catalog', () => checkEmbeddedCatalog(command, report))
    } finally {
      await opened.close()
    }
  }
  await checkProxy(command, report)
  print(command, report.findings, report.findings.flatMap(toLines))
  return report.findings.every(({ isGood }) => isGood) ? 0 : 1
}

/** Check the stored copy, the calls of the catalog, and the channels that both know. */
async function checkCatalog(command: CommandContext, report: Report, place: CatalogPlace): Promise<void> {
  const { config, clock } = command
  const store = await report.attempt('stored copy', () =>
    openSqlStore({ database: config.database, catalog: place.identity, timeouts: TIMEOUTS }),
  )
  if (store !== undefined) await report.attempt('stored copy', () => checkStoredCopy(report, store))
  const onStoreFailure = (error: unknown): void => {
    if (report.findings.some(({ subject, isGood }) => subject === 'stored copy' && !isGood)) return
    const found = `it cannot be written: ${describeStoreFailure(error)}`
    report.bad('stored copy', found, findRemedyByCode(StoreError.code, config) ?? '')
  }
  // The pause and the counts are those of the server beside it: a check calls nothing that the server may not.
  const gate = createCallGate({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: config.catalogDailyLimit,
    ...(store && { store, onStoreFailure }),
  })
  let catalogAheadMs: number | undefined
  const onClockDifference = (differenceMs: number): void => void (catalogAheadMs = differenceMs)
  const client = await createCommandClient(command, place, { gate, onClockDifference })
  try {
    const listed = await report.attempt('catalog and key', () => client.fetchChannels())
    if (listed !== undefined) report.good('catalog and key', 'the catalog answers and takes the key')
    await checkClocks(report, { clock, store, catalogAheadMs })
    checkQuota(report, await gate.readState(), clock.nowMs())
    const stored = await report.attempt('stored copy', async () => store?.findChannelList())
    await checkChannels(report, { listed: listed?.value, stored, store, nowMs: clock.nowMs() })
  } finally {
    await client.close()
    await store?.close()
  }
}

function toLines({ subject, isGood, found, cure }: Finding): readonly string[] {
  const line = `${isGood ? 'good ' : 'WRONG'}  ${subject}: ${found}`
  return cure === null ? [line] : [line, `       ${cure}`]
}

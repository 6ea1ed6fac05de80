import { type CallGate, createCallGate } from '../catalog/call-gate.ts'
import { SECOND_MS } from '../clock.ts'
import type { CatalogPlace } from '../context.ts'
import { StoreError } from '../errors.ts'
import type { BusyTimeouts } from '../storage/dialects.ts'
import { describeStoreFailure } from '../storage/unavailable.ts'
import { openSqlStore } from '../storage/sql-store.ts'
import type { CopyStore } from '../storage/store.ts'
import { checkClocks, checkEmbeddedCatalog, checkQuota } from './checks/catalog.ts'
import { type Finding, type Report, attempt, bad, findRemedyByCode, good } from './checks/findings.ts'
import { checkListener, checkProxy } from './checks/listener.ts'
import { checkChannels, checkStoredCopy } from './checks/stored-copy.ts'
import type { CommandContext, ExitCode } from './command.ts'
import { createCommandClient, openCatalog } from './open-catalog.ts'
import { toPlain, toPlainJson } from './output.ts'

/** A check waits for a database server for a shorter time than a walk does. */
const TIMEOUTS: BusyTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/**
 * `vitrine check`: tries settings, database, catalog, key and channels, and prints what is wrong and how to mend it.
 * Exit code 1 if anything is.
 * @throws ConfigError when the key file is not usable: wrong settings stop every command with exit code 78.
 */
export async function runCheck(command: CommandContext): Promise<ExitCode> {
  const { config, io } = command
  const { catalog: address } = config
  const isEmbedded = address.kind === 'embedded'
  const source = isEmbedded ? 'embedded catalog service' : `catalog at ${new URL(address.url).origin}`
  const findings: Finding[] = [good('settings', source), await checkListener(command)]
  const report: Report = { config, findings }
  const catalog = await attempt(report, 'catalog service', () => openCatalog(command))
  if (catalog !== undefined) {
    try {
      await checkCatalog(command, report, catalog.place)
      if (isEmbedded)
        findings.push(...((await attempt(report, 'catalog', () => checkEmbeddedCatalog(command))) ?? []))
    } finally {
      await catalog.close()
    }
  }
  findings.push(...(await checkProxy(command)))
  if (command.json) io.out(toPlainJson(findings))
  else for (const finding of findings) print(command, finding)
  return findings.every(({ isGood }) => isGood) ? 0 : 1
}

/** Check the stored copy, the calls of the catalog, and the channels that both know. */
async function checkCatalog(command: CommandContext, report: Report, place: CatalogPlace): Promise<void> {
  const { config, clock } = command
  const { findings } = report
  const store = await attempt(report, 'stored copy', () =>
    openSqlStore({ database: config.database, catalog: place.identity, timeouts: TIMEOUTS }),
  )
  if (store !== undefined) {
    const finding = await attempt(report, 'stored copy', () => checkStoredCopy(report, store))
    if (finding !== undefined) findings.push(finding)
  }
  const gate = createGate(command, report, store)
  let catalogAheadMs: number | undefined
  const onClockDifference = (differenceMs: number): void => void (catalogAheadMs = differenceMs)
  const client = await createCommandClient(command, place, { gate, onClockDifference })
  try {
    const listed = await attempt(report, 'catalog and key', () => client.fetchChannels())
    if (listed !== undefined) findings.push(good('catalog and key', 'the catalog answers and takes the key'))
    findings.push(...(await checkClocks({ clock, store, catalogAheadMs })))
    findings.push(checkQuota(await gate.readState(), clock.nowMs()))
    const stored = await attempt(report, 'stored copy', async () => store?.findChannelList())
    const known = { listed: listed?.value, stored, store, nowMs: clock.nowMs() }
    await checkChannels(report, known)
  } finally {
    await client.close()
    await store?.close()
  }
}

/** The pause and the counts are those of the server beside it: a check calls nothing that the server may not. */
function createGate(
  { config, clock }: CommandContext,
  { findings }: Report,
  store: CopyStore | undefined,
): CallGate {
  const onStoreFailure = (error: unknown): void => {
    if (findings.some(({ subject, isGood }) => subject === 'stored copy' && !isGood)) return
    const found = `it cannot be written: ${describeStoreFailure(error)}`
    findings.push(bad('stored copy', found, findRemedyByCode(StoreError.code, config) ?? ''))
  }
  return createCallGate({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: config.catalogDailyLimit,
    ...(store && { store, onStoreFailure }),
  })
}

function print({ io }: CommandContext, { subject, isGood, found, cure }: Finding): void {
  io.out(toPlain(`${isGood ? 'good ' : 'WRONG'}  ${subject}: ${found}`))
  if (cure !== null) io.out(`       ${cure}`)
}

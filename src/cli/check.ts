import { createCallPolicy } from '../catalog/call-policy.ts'
import { getOwnEnvironment, readEnvironment } from '../config/env.ts'
import { readShopData } from '../config/shop-file.ts'
import type { CatalogConnection } from '../context.ts'
import { StoreError } from '../errors.ts'
import { pluralize } from '../lib/format.ts'
import type { ExplainedSubRules } from '../offers/sub-ids.ts'
import { openStoredCopy } from '../storage/stored-copy.ts'
import { describeStoreFailure } from '../database/failures.ts'
import { checkMailNetworks, checkSubIds, openSubRules } from './checks/affiliate-networks.ts'
import { checkClocks, checkEmbeddedCatalog, checkQuota } from './checks/catalog.ts'
import {
  checkListener,
  checkProxy,
  checkCertificates,
  checkProxies,
  checkPictures,
  checkWebhook,
} from './checks/network.ts'
import { type Finding, CheckReport, findCodeRemedy } from './checks/report.ts'
import { checkChannels, checkStoredCopy, checkWalkPlan } from './checks/stored-copy.ts'
import { type CommandContext, type ExitCode, print } from '../command.ts'
import { createCommandClient, openCatalog } from './open-catalog.ts'

/** Return exit code 1 when anything is wrong. @throws ConfigError when the key file, the shop file or the sub-ids file is unusable (exit code 78). */
export async function runCheck(command: CommandContext): Promise<ExitCode> {
  const { config } = command
  const { catalog: address } = config
  const isEmbedded = address.kind === 'embedded'
  const report = new CheckReport(config)
  report.addOk(
    'settings',
    isEmbedded ? 'embedded catalog service' : `catalog at ${new URL(address.url).origin}`,
  )
  const subRules = (await report.attempt('sub-ids', async () => openSubRules(report))) ?? null
  await checkListener(command, report)
  const opened = await report.attempt('catalog service', () => openCatalog(command))
  if (opened !== undefined) {
    try {
      await checkCatalog(command, report, { catalog: opened.catalog, subRules })
      if (isEmbedded) await report.attempt('catalog', () => checkEmbeddedCatalog(command, report))
    } finally {
      await opened.close()
    }
  }
  await checkProxy(command, report)
  await checkPictures(command, report)
  await checkWebhook(command, report)
  checkProxies(command, report)
  checkCertificates(report, { own: getOwnEnvironment(), withFile: readEnvironment() })
  await report.attempt('shops', async () => checkShops(command, report))
  print(command, report.findings, report.findings.flatMap(formatFinding))
  return report.findings.every(({ isGood }) => isGood) ? 0 : 1
}

async function checkCatalog(
  command: CommandContext,
  report: CheckReport,
  { catalog, subRules }: Readonly<{ catalog: CatalogConnection; subRules: ExplainedSubRules | null }>,
): Promise<void> {
  const { config, clock } = command
  const store = await report.attempt('stored copy', () =>
    openStoredCopy({
      database: config.database,
      catalog: catalog.copyName,
      access: 'check',
      history: config.history,
    }),
  )
  if (store !== undefined) await report.attempt('stored copy', () => checkStoredCopy(report, store))
  const onStoreFailure = (error: unknown): void => {
    if (report.findings.some(({ subject, isGood }) => subject === 'stored copy' && !isGood)) return
    const message = `the database cannot be written: ${describeStoreFailure(error)}`
    report.addProblem('stored copy', message, findCodeRemedy(StoreError.code, config) ?? '')
  }
  // Share the limits and the pause of a running server: a check must not make a call that the server could not make.
  const callPolicy = createCallPolicy({
    clock,
    unknownLookupsPerHour: 0,
    dailyLimit: config.catalogDailyLimit,
    ...(store && { store, onStoreFailure }),
  })
  let catalogSkewMs: number | undefined
  const onClockSkew = (skewMs: number): void => void (catalogSkewMs = skewMs)
  const client = await createCommandClient(command, catalog, { callPolicy, onClockSkew })
  try {
    const catalogChannels = await report.attempt('catalog and key', () => client.fetchChannels())
    if (catalogChannels !== undefined)
      report.addOk('catalog and key', 'the catalog responds and accepts the key')
    await checkClocks(report, { clock, store, catalogSkewMs })
    checkQuota(report, await callPolicy.readState(), clock.nowMs())
    const storedList = await report.attempt('stored copy', async () => store?.findChannelList())
    await checkChannels(report, {
      catalogChannels: catalogChannels?.value,
      storedList,
      store,
      nowMs: clock.nowMs(),
    })
    if (store !== undefined && storedList !== undefined) {
      await checkWalkPlan(report, { config, store, callPolicy, clock })
      if (subRules !== null)
        await report.attempt('stored copy', () => checkSubIds(report, subRules, { store, storedList }))
      if (config.mailNetworks !== null)
        await report.attempt('stored copy', () => checkMailNetworks(report, { store, storedList }))
    }
  } finally {
    await client.close()
    await store?.close()
  }
}

function formatFinding({ subject, isGood, message, remedy, example }: Finding): readonly string[] {
  return [
    `${toLabel(isGood, remedy)}  ${subject}: ${message}`,
    ...(example ? [`       before ${example.before}`, `       after  ${example.after ?? 'unchanged'}`] : []),
    ...(remedy === null ? [] : [`       ${remedy}`]),
  ]
}

function toLabel(isGood: boolean, remedy: string | null): string {
  if (!isGood) return 'WRONG'
  return remedy === null ? 'good ' : 'note '
}

function checkShops({ config }: CommandContext, report: CheckReport): void {
  if (config.shopsFile === null) return
  const { entries, logos } = readShopData(config.shopsFile)
  report.addOk('shops', `${pluralize(entries.length, 'shop')}, ${pluralize(logos.length, 'logo')}`)
}

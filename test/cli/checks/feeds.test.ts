import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../src/clock.ts'
import { checkEmbeddedCatalog } from '../../../src/cli/checks/catalog.ts'
import { CheckReport, type Finding } from '../../../src/cli/checks/report.ts'
import {
  type TestCommand,
  createTestCommand,
  runCatalogCommand,
} from '../../catalog-service/commands/test-command.ts'

const TABLE = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n'

async function importKopje(): Promise<TestCommand> {
  const under = createTestCommand()
  const file = join(under.folder, 'kopje.csv')
  writeFileSync(file, TABLE)
  await runCatalogCommand(under, 'import', file, '--merchant', 'Kopje')
  return under
}

async function check({ context }: TestCommand): Promise<readonly Finding[]> {
  const report = new CheckReport(context.config)
  await checkEmbeddedCatalog(context, report)
  return report.findings
}

test('feed imported an hour ago - good, with its time; its network without a template is named', async () => {
  const under = await importKopje()
  under.clock.advance(HOUR_MS)
  expect(await check(under)).toEqual([
    {
      subject: 'feed kopje',
      isGood: true,
      message: expect.stringMatching(/^read on May 1, 2026.*, 1 offer$/),
      remedy: null,
    },
    {
      subject: 'network feed',
      isGood: true,
      message: expect.stringContaining('earn no commission'),
      remedy: 'vitrine catalog networks set "feed" --template "https://…{merchant}…{publisher}…{url}"',
    },
  ])
})

test('feed imported 40 days ago - a problem: its prices are not shown', async () => {
  const under = await importKopje()
  under.clock.advance(40 * DAY_MS)
  expect(await check(under)).toContainEqual({
    subject: 'feed kopje',
    isGood: false,
    message: 'its last import is so old that its prices are not shown',
    remedy: 'vitrine catalog import FILE --feed kopje',
  })
})

test('feed whose runs fail - a problem with the reason', async () => {
  const under = createTestCommand()
  await runCatalogCommand(under, 'feeds', 'add', 'kopje', '--url', 'http://127.0.0.1:1/')
  await expect(runCatalogCommand(under, 'feeds', 'run', 'kopje')).rejects.toThrow('connection refused')
  expect(await check(under)).toContainEqual({
    subject: 'feed kopje',
    isGood: false,
    message: 'the last run failed: http://127.0.0.1:1 cannot be fetched (connection refused)',
    remedy: 'vitrine catalog feeds run kopje',
  })
})

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { SECOND_MS, systemClock } from '../../../src/clock.ts'
import { runInProcess } from '../run-cli.ts'
import { type TestCommand, createTestCommand, runCatalogCommand, withJson } from './test-command.ts'

const OFFER = {
  merchant: { name: 'Shop' },
  network: 'Net',
  price: '1.00',
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: 'https://a.example/',
}
const ROW = JSON.stringify({ gtin: '17', title: 'T', offers: [OFFER, { ...OFFER, currency: 'USD' }] })

function run(command: TestCommand, content: string, ...options: readonly string[]): Promise<number> {
  const file = join(command.folder, 'feed.ndjson')
  writeFileSync(file, content)
  return runCatalogCommand(command, 'import', file, ...options)
}

describe('catalog import', () => {
  it('valid feed - prints the counts and the channel', async () => {
    const command = createTestCommand()
    expect(await run(command, `${ROW}\n${ROW.replace('"17"', '"24"')}\n`)).toBe(0)
    expect(command.out).toHaveLength(1)
    expect(command.out[0]).toMatch(/^2 products, 4 offers, 0 rejected; channel [0-9a-f-]{36}$/)
    expect(command.err.join('')).toContain('set VITRINE_FRAME_ANCESTORS')
  })

  it('frame origins set - no hint about them', async () => {
    const command = createTestCommand()
    const config = { ...command.context.config, frameAncestors: ['https://magazine.example'] }
    await run({ ...command, context: { ...command.context, config } }, ROW)
    expect(command.err).toEqual(['Read as ndjson.\n'])
  })

  it('table of a shop, links without tracking - warns, and prints the command that adds tracking', async () => {
    const command = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n'
    expect(await run(command, table)).toBe(0)
    expect(command.err.join('')).toContain('they are named after the hosts of their links')
    expect(command.err.join('')).toContain('Links of "feed" lead to the shops\' own pages, without tracking')
    expect(command.err.join('')).toContain('vitrine catalog networks set "feed" --template')
    expect(command.out[0]).toMatch(/^1 product, 1 offer, 0 rejected; /)
  })

  it('table of a shop, template with an unset publisher reference - warns until the reference is set', async () => {
    const command = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n'
    await run(command, table)
    const path = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(command.folder, 'catalog.db')}` }
    const template = 'https://net.example/?p={publisher}&u={url}'
    await runInProcess(['catalog', 'networks', 'set', 'feed', '--template', template], path)
    await run(command, table)
    expect(command.err.join('')).toContain('has no publisher reference yet')
    expect(command.err.join('')).toContain('1 older offer of the same shops removed')
    const [, channel = ''] = / channel (\S+)$/.exec(command.out[0] ?? '') ?? []
    await runInProcess(
      ['catalog', 'networks', 'assign', 'feed', '--channel', channel, '--publisher', '47'],
      path,
    )
    command.err.length = 0
    await run(command, table)
    expect(command.err.join('')).not.toContain('publisher')
  })

  it('second feed of the same shop - reports how many offers of the first one it removed', async () => {
    const command = createTestCommand()
    await run(command, `${ROW}\n${ROW.replace('"17"', '"24"')}\n`)
    await run(command, ROW)
    expect(command.err).toContain(
      '2 older offers of the same shops removed: the file no longer has them, has them with other links, or they were rejected.\n',
    )
    expect(command.out[1]).toMatch(/^1 product, 2 offers, /)
  })

  it.each(['', '   ', 'x'.repeat(101), 'a\u001bb', 'a\nb'])(
    'network or merchant name %j - UsageError before the file is opened',
    async (name) => {
      const command = createTestCommand()
      for (const option of ['network', 'merchant'])
        await expect(
          runCatalogCommand(command, 'import', join(command.folder, 'missing'), `--${option}`, name),
        ).rejects.toMatchObject({
          code: 'VITRINE_USAGE',
          message: `--${option} needs a name of 1 to 100 characters on one line`,
        })
      expect(existsSync(join(command.folder, 'catalog.db'))).toBe(false)
    },
  )

  it('names with control characters - are escaped in JSON and replaced in text output', async () => {
    const command = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n'
    const row = ROW.replaceAll('"Net"', '"Net\\u009b2J"')
    expect(await run(command, row)).toBe(0)
    const path = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(command.folder, 'catalog.db')}` }
    const { out } = await runInProcess(['catalog', 'networks', '--json'], path)
    expect(out).toContain(String.raw`"Net\u009b2J"`)
    expect(JSON.parse(out)).toMatchObject([{ name: 'Net\u009b2J' }])
    const file = join(command.folder, 'table.csv')
    writeFileSync(file, table)
    await runCatalogCommand(command, 'import', file, '--network', '  N  ')
    expect([...command.err, ...command.out].join('')).not.toMatch(/[\u0080-\u009f]/)
    expect(command.err.join('')).toContain('Links of "N" lead')
  })

  it('catalog locked by another import - reports it; any other database error is reported as it is', async () => {
    const command = createTestCommand()
    await run(command, ROW)
    const store = await openCatalogStore({
      database: command.context.config.catalogDatabase,
      clock: systemClock,
    })
    onTestFinished(() => store.close())
    await store.write(async (transaction) => {
      await transaction.updateTable('products').set({ title: 'T' }).execute()
      await expect(run(command, ROW)).rejects.toMatchObject({
        code: 'VITRINE_STORE_FAILED',
        message: expect.stringMatching(/^another import is running.*Nothing was changed; try again/),
      })
    })
    await store.write((database) => database.schema.dropTable('approvals').execute())
    await expect(run(command, ROW)).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      message: expect.stringMatching(/no such table: |does not exist/),
    })
  })

  it('import that fails outside the database - reports the cause, and that nothing was changed', async () => {
    const command = createTestCommand()
    const { context, clock, folder } = command
    const { nowMs } = context.clock
    const broken = {
      ...context,
      clock: {
        ...context.clock,
        nowMs: () => {
          clock.advance(2 * SECOND_MS)
          return nowMs()
        },
      },
      io: {
        ...context.io,
        err: () => {
          throw new Error('no space left on device')
        },
      },
    }
    const file = join(folder, 'feed.ndjson')
    writeFileSync(file, Array.from({ length: 1_100 }, () => ROW).join('\n'))
    await expect(runCatalogCommand({ ...command, context: broken }, 'import', file)).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      message: 'the feed could not be imported: no space left on device. Nothing was changed',
    })
  })

  it('over a thousand rejects - their path is printed first; the count has a thousands separator', async () => {
    const command = createTestCommand()
    await run(command, `${'x\n'.repeat(1_200)}${ROW}\n`)
    expect(command.out[0]).toBe(`rejected rows: ${join(command.folder, 'feed.ndjson.rejects')}`)
    expect(command.out[1]).toMatch(/^1 product, 2 offers, 1,200 rejected; channel /)
  })

  it('--json - prints one object', async () => {
    const command = withJson(createTestCommand())
    await run(command, `x\n${ROW}\n`)
    expect(command.out).toHaveLength(1)
    expect(JSON.parse(command.out[0] ?? '')).toEqual({
      format: 'ndjson',
      products: 1,
      offers: 2,
      removedOffers: 0,
      rejected: 1,
      channel: expect.stringMatching(/^[0-9a-f-]{36}$/),
      rejects: join(command.folder, 'feed.ndjson.rejects'),
      replacedSample: false,
      untrackedNetworks: [],
      unassignedNetworks: [],
    })
  })

  it.each(['csv', 'NDJSON', ''])(
    'format "%s" - UsageError that lists the accepted formats',
    async (format) => {
      const command = createTestCommand()
      await expect(
        runCatalogCommand(command, 'import', 'feed.ndjson', '--format', format),
      ).rejects.toMatchObject({
        code: 'VITRINE_USAGE',
        message: '--format accepts ndjson, google-xml, google-tsv, google-csv, awin-csv',
      })
    },
  )

  it('format, channel, network and merchant options - are used', async () => {
    const command = createTestCommand()
    const channel = '952a0000-0000-4000-8000-00000000000a'
    await run(command, ROW, '--format', 'ndjson', '--channel', channel, '--network', 'N', '--merchant', 'M')
    expect(command.out[0]).toBe(`1 product, 2 offers, 0 rejected; channel ${channel}`)
  })

  it('progress - plain lines, or one redrawn line on a terminal', async () => {
    for (const isTerminal of [false, true]) {
      const command = createTestCommand({ isTerminal })
      const nowMs = command.context.clock.nowMs
      const clock = {
        ...command.context.clock,
        nowMs: () => {
          command.clock.advance(2 * SECOND_MS)
          return nowMs()
        },
      }
      const rows = Array.from({ length: 1_100 }, () => ROW).join('\n')
      await run({ ...command, context: { ...command.context, clock } }, rows)
      const text = command.err.join('')
      expect(text).toMatch(/\d+ % read, 200 products, 0 rejected; \d+ rows\/s, \d+ s left/)
      expect(text.includes('\r')).toBe(isTerminal)
      expect(text.includes('\r\u001b[2KRead as ndjson')).toBe(isTerminal)
    }
  })

  it('feed without shop names - its format is detected from the first bytes, and its shop is named after the link host', async () => {
    const command = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/t,1.00 EUR\n'
    expect(await run(command, table)).toBe(0)
    expect(command.out[0]).toMatch(/^1 product, 1 offer, 0 rejected; channel /)
    expect(command.err.slice(0, 2)).toEqual([
      'Read as google-csv.\n',
      'The feed names no shops, so they are named after the hosts of their links. Set a name with --merchant NAME.\n',
    ])
  })

  it('missing file - ImportError', async () => {
    const command = createTestCommand()
    const missing = runCatalogCommand(command, 'import', join(command.folder, 'missing'))
    await expect(missing).rejects.toMatchObject({ code: 'VITRINE_IMPORT_FAILED' })
  })
})

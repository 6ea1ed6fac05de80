import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FEED_FORMATS } from '../../../src/catalog-service/import/formats.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { SECOND_MS, systemClock } from '../../../src/clock.ts'
import { runInProcess } from '../../cli/run-cli.ts'
import { type TestCommand, createTestCommand, runCatalogCommand, withJson } from './test-command.ts'

const OFFER = {
  merchant: { name: 'Shop' },
  network: 'Net',
  price: '1.00',
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: 'https://a.example/',
}
const NEXT_STEP = 'Boxes and grids show the import after the next walk. To walk now: vitrine sync\n'
const PRICE_AGE =
  'Its prices are shown for 24 hours (VITRINE_PRICE_MAX_AGE_SECONDS), so import it again in time, or let the server fetch it: vitrine catalog feeds set feed --url URL\n'
const ROW = JSON.stringify({ gtin: '17', title: 'T', offers: [OFFER, { ...OFFER, currency: 'USD' }] })

function run(under: TestCommand, content: string, ...options: readonly string[]): Promise<number> {
  const file = join(under.folder, 'feed.ndjson')
  writeFileSync(file, content)
  return runCatalogCommand(under, 'import', file, ...options)
}

describe('catalog import', () => {
  it('valid feed - the last line has the counts and the channel', async () => {
    const under = createTestCommand()
    expect(await run(under, `${ROW}\n${ROW.replace('"17"', '"24"')}\n`)).toBe(0)
    expect(under.out).toHaveLength(1)
    expect(under.out[0]).toMatch(/^2 products, 4 offers, 0 rejected; channel [0-9a-f-]{36}$/)
    expect(under.err.join('')).toContain('set VITRINE_FRAME_ANCESTORS')
  })

  it('framing allowed by the settings or by the address of the channel - no hint', async () => {
    const under = createTestCommand()
    const config = { ...under.context.config, frameAncestors: ['https://magazine.example'] }
    await run({ ...under, context: { ...under.context, config } }, ROW)
    expect(under.err).toEqual(['Feed feed, read as ndjson.\n', NEXT_STEP, PRICE_AGE])
  })

  it('links without tracking - prints that, and how to build tracking links', async () => {
    const under = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n'
    expect(await run(under, table)).toBe(0)
    expect(under.err.join('')).toContain('they are named after the hosts of their links')
    expect(under.err.join('')).toContain(
      'Links in the network "feed" lead to the shops\' own pages and earn no commission',
    )
    expect(under.err.join('')).toContain('vitrine catalog networks set "feed" --template')
    expect(under.out[0]).toMatch(/^1 product, 1 offer, 0 rejected; /)
  })

  it('template without a publisher reference - prints that until one is set', async () => {
    const under = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n'
    await run(under, table)
    const path = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(under.folder, 'catalog.db')}` }
    const template = 'https://net.example/?p={publisher}&u={url}'
    await runInProcess(['catalog', 'networks', 'set', 'feed', '--template', template], path)
    await run(under, table)
    expect(under.err.join('')).toContain('has no publisher reference yet')
    const [, channel = ''] = / channel (\S+)$/.exec(under.out[0] ?? '') ?? []
    await runInProcess(
      ['catalog', 'networks', 'assign', 'feed', '--channel', channel, '--publisher', '47'],
      path,
    )
    under.err.length = 0
    await run(under, table)
    expect(under.err.join('')).not.toContain('publisher')
  })

  it('network whose channel was unassigned - prints that its offers are not shown, and how to assign it', async () => {
    const under = createTestCommand()
    await run(under, ROW)
    const [, channel = ''] = / channel (\S+)$/.exec(under.out[0] ?? '') ?? []
    const path = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(under.folder, 'catalog.db')}` }
    await runInProcess(['catalog', 'networks', 'unassign', 'Net', '--channel', channel], path)
    await run(under, ROW)
    expect(under.err.join('')).toContain('The channel has no network channel of "Net"')
    expect(under.err.join('')).toContain(`vitrine catalog networks assign "Net" --channel ${channel}`)
  })

  it('file without former offers - prints how many were removed', async () => {
    const under = createTestCommand()
    await run(under, `${ROW}\n${ROW.replace('"17"', '"24"')}\n`)
    await run(under, ROW)
    expect(under.err).toContain(
      '2 older offers of the feed removed: their rows are gone, were rejected, or have another link, currency or shop.\n',
    )
    expect(under.out[1]).toMatch(/^1 product, 2 offers, /)
  })

  it.each(['', '   ', 'x'.repeat(101), 'a\u001bb', 'a\nb'])(
    'network or merchant %j - UsageError, before the file is opened',
    async (name) => {
      const under = createTestCommand()
      for (const option of ['network', 'merchant'])
        await expect(
          runCatalogCommand(under, 'import', join(under.folder, 'missing'), `--${option}`, name),
        ).rejects.toMatchObject({
          code: 'VITRINE_USAGE',
          message: `--${option} needs a name of 1 to 100 characters on one line`,
        })
      expect(existsSync(join(under.folder, 'catalog.db'))).toBe(false)
    },
  )

  it('names with control characters - are printed without them, in lines and in JSON', async () => {
    const under = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n'
    const row = ROW.replaceAll('"Net"', '"Net\\u009b2J"')
    expect(await run(under, row)).toBe(0)
    const path = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(under.folder, 'catalog.db')}` }
    const { out } = await runInProcess(['catalog', 'networks', '--json'], path)
    expect(out).toContain(String.raw`"Net\u009b2J"`)
    expect(JSON.parse(out)).toMatchObject([{ name: 'Net\u009b2J' }])
    const file = join(under.folder, 'table.csv')
    writeFileSync(file, table)
    await runCatalogCommand(under, 'import', file, '--network', '  N  ')
    expect([...under.err, ...under.out].join('')).not.toMatch(/[\u0080-\u009f]/)
    expect(under.err.join('')).toContain('Links in the network "N" lead')
  })

  it('locked catalog - the message of all commands; failing catalog - the message of the database', async () => {
    const under = createTestCommand()
    await run(under, `${ROW}\nnull`)
    const rejectsPath = join(under.folder, 'feed.ndjson.rejects')
    expect(existsSync(rejectsPath)).toBe(true)
    const store = await openCatalogStore({
      database: under.context.config.catalogDatabase,
      clock: systemClock,
    })
    onTestFinished(() => store.close())
    await store.write(async (transaction) => {
      await transaction.updateTable('products').set({ title: 'T' }).execute()
      await expect(run(under, ROW)).rejects.toMatchObject({
        code: 'VITRINE_STORE_FAILED',
        message: expect.stringMatching(/^another import is running.*Nothing was changed; try again/),
      })
      expect(existsSync(rejectsPath)).toBe(true)
    })
    await store.write((database) => database.schema.dropTable('approvals').execute())
    await expect(run(under, ROW)).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      message: expect.stringMatching(/no such table: |does not exist/),
    })
  })

  it('import stopped by another error than of the database - prints it, and that nothing was changed', async () => {
    const under = createTestCommand()
    const { context, clock, folder } = under
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
    await expect(runCatalogCommand({ ...under, context: broken }, 'import', file)).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      message: 'the feed could not be imported: no space left on device. Nothing was changed',
    })
  })

  it('more than a thousand rows, with rejects - prints thousands separators, and the path of the rejects file first', async () => {
    const under = createTestCommand()
    await run(under, `${'x\n'.repeat(1_200)}${ROW}\n`)
    expect(under.out[0]).toBe(`rejected rows: ${join(under.folder, 'feed.ndjson.rejects')}`)
    expect(under.out[1]).toMatch(/^1 product, 2 offers, 1,200 rejected; channel /)
  })

  it('--json - one object', async () => {
    const under = withJson(createTestCommand())
    await run(under, `x\n${ROW}\n`)
    expect(under.out).toHaveLength(1)
    expect(JSON.parse(under.out[0] ?? '')).toEqual({
      feed: 'feed',
      format: 'ndjson',
      guessedEncoding: null,
      products: 1,
      offers: 2,
      removedOffers: 0,
      rejected: 1,
      leftOutPictures: 0,
      channel: expect.stringMatching(/^[0-9a-f-]{36}$/),
      rejects: join(under.folder, 'feed.ndjson.rejects'),
      replacedSample: false,
      untrackedNetworks: [],
      unassignedNetworks: [],
    })
  })

  it.each(['csv', 'NDJSON', ''])('format "%s" - UsageError that lists the formats', async (format) => {
    const under = createTestCommand()
    await expect(runCatalogCommand(under, 'import', 'feed.ndjson', '--format', format)).rejects.toMatchObject(
      {
        code: 'VITRINE_USAGE',
        message: `--format accepts ${FEED_FORMATS.join(', ')}`,
      },
    )
  })

  it('format, channel, network and merchant given - are used', async () => {
    const under = createTestCommand()
    const channel = '952a0000-0000-4000-8000-00000000000a'
    await run(under, ROW, '--format', 'ndjson', '--channel', channel, '--network', 'N', '--merchant', 'M')
    expect(under.out[0]).toBe(`1 product, 2 offers, 0 rejected; channel ${channel}`)
  })

  it('progress - separate lines, or one line redrawn on a terminal', async () => {
    for (const isTerminal of [false, true]) {
      const under = createTestCommand({ isTerminal })
      const nowMs = under.context.clock.nowMs
      const clock = {
        ...under.context.clock,
        nowMs: () => {
          under.clock.advance(2 * SECOND_MS)
          return nowMs()
        },
      }
      const rows = Array.from({ length: 1_100 }, () => ROW).join('\n')
      await run({ ...under, context: { ...under.context, clock } }, rows)
      const text = under.err.join('')
      expect(text).toMatch(/\d+ % read, 200 products, 0 rejected; \d+ rows\/s, \d+ s left/)
      expect(text.includes('\r')).toBe(isTerminal)
      expect(text.includes('\r\u001b[2KFeed feed, read as ndjson')).toBe(isTerminal)
    }
  })

  it('feed without shop names - the format is detected by the first bytes, the shop by its links', async () => {
    const under = createTestCommand()
    const table = 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/t,1.00 EUR\n'
    expect(await run(under, table)).toBe(0)
    expect(under.out[0]).toMatch(/^1 product, 1 offer, 0 rejected; channel /)
    expect(under.err.slice(0, 2)).toEqual([
      'Feed feed, read as google-csv.\n',
      'The feed names no shops, so they are named after the hosts of their links. Set a name with --merchant NAME.\n',
    ])
  })

  it('file with a date in its name - warns that the next one will be another feed', async () => {
    const under = createTestCommand()
    const file = join(under.folder, 'kopje-2026-11-25.csv')
    writeFileSync(file, 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/t,1.00 EUR\n')
    await runCatalogCommand(under, 'import', file)
    expect(under.err.join('')).toContain('vitrine catalog feeds remove kopje-2026-11-25 --yes')
    under.err.length = 0
    await runCatalogCommand(under, 'import', file, '--feed', 'kopje')
    expect(under.err.join('')).not.toContain('has a date')
  })

  it('file with the name of a feed with an address - says that it is another feed', async () => {
    const under = createTestCommand()
    await runCatalogCommand(under, 'feeds', 'add', 'feed', '--url', 'https://kopje.example/')
    await run(under, ROW)
    expect(under.err.join('')).toContain('so the file is the feed feed-2')
    under.err.length = 0
    await run(under, ROW, '--feed', 'feed')
    expect(under.err.join('')).not.toMatch(/feed-2|are shown for/)
  })

  it('missing file - ImportError', async () => {
    const under = createTestCommand()
    const missing = runCatalogCommand(under, 'import', join(under.folder, 'missing'))
    await expect(missing).rejects.toMatchObject({ code: 'VITRINE_IMPORT_FAILED' })
  })
})

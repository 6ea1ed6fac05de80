import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import {
  addKopje,
  CHANNEL,
  createFeedCommand,
  makeTable,
  run,
  runJson,
  SECRET,
  startFeedServer,
} from './feed-command.ts'
import { runCatalogCommand, withJson } from './test-command.ts'

const MIXED = `${makeTable(2)}12345,No GTIN,https://kopje.example/x,1.00 EUR\n`

describe('catalog feeds add, run, list', () => {
  it('address with secrets - is fetched with them; no output has them', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(3))
    await addKopje(under, server, '--merchant', 'Kopje')
    expect(under.out).toEqual([`kopje  ${server.url}/…  every 6h; channel ${CHANNEL}`])
    await run(under, 'run', 'kopje')
    expect(server.requests).toEqual([`/feed/${SECRET}.csv?token=t0ken-in-the-query`])
    expect(under.out.at(-1)).toBe(`3 products, 3 offers, 0 rejected; channel ${CHANNEL}`)
    await run(under, 'list')
    expect(under.out.join('\n')).toContain('3 products, 3 offers, 0 rejected, 0 removed')
    expect(under.out.join('\n')).not.toContain('rejected most often')
    await run(withJson(under), 'list')
    expect([...under.out, ...under.err].join('\n')).not.toMatch(/k3y|t0ken|feed\/\$/)
    expect(under.err.join('')).toContain(
      "the shops' own pages and earn no commission, because the network has no link template",
    )
  })

  it('run while another process runs the feed - StoreError, because it passes by itself', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(3))
    await addKopje(under, server, '--merchant', 'Kopje')
    const release = server.hold()
    const first = run(under, 'run', 'kopje')
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    await expect(run(under, 'run', 'kopje')).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      remedy: expect.stringContaining('try again'),
    })
    release()
    await first
  })

  it('list --json - the state of each feed', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(3))
    await addKopje(under, server, '--every', '30m', '--network', 'awin')
    expect(await runJson(under, 'list')).toMatchObject([
      {
        name: 'kopje',
        status: 'new',
        fetchedAt: null,
        nextRunAt: '2026-05-01T00:00:00.000Z',
        everySeconds: 1_800,
      },
    ])
    await run(under, 'run', 'kopje')
    under.clock.advance(60_000)
    expect(await runJson(under, 'list')).toMatchObject([
      {
        name: 'kopje',
        status: 'ok',
        channelId: CHANNEL,
        address: `${server.url}/…`,
        network: 'awin',
        fetchedAt: '2026-05-01T00:00:00.000Z',
        nextRunAt: '2026-05-01T00:30:00.000Z',
        products: 3,
        offers: 3,
        rejected: 0,
        removed: 0,
        error: null,
        isQuiet: false,
      },
    ])
  })

  it('list - the most frequent reasons for rejects, and the file with all', async () => {
    const under = createFeedCommand()
    await addKopje(under, await startFeedServer(MIXED))
    await run(under, 'run', 'kopje')
    await run(under, 'list')
    expect(under.out.join('\n')).toMatch(
      /rejected most often: gtin: not 8, 12, 13 or 14 digits \(1\); all: .*kopje\.rejects/,
    )
    expect(await runJson(under, 'list')).toMatchObject([
      { rejectedRows: 1, topReasons: [['gtin: not 8, 12, 13 or 14 digits', 1]] },
    ])
  })

  it('feed that has not changed - is not imported again', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(3))
    await addKopje(under, server)
    await run(under, 'run', 'kopje')
    await run(under, 'run', 'kopje')
    expect(under.out.at(-1)).toBe(`unchanged since the last run: 3 products, 3 offers; channel ${CHANNEL}`)
    expect(await runJson(under, 'run', 'kopje')).toEqual({
      feed: 'kopje',
      unchanged: true,
      products: 3,
      offers: 3,
      channel: CHANNEL,
    })
  })

  it('feed that lost more than half of its offers - is held; --accept takes it', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(120))
    await addKopje(under, server)
    await run(under, 'run', 'kopje')
    server.serve(makeTable(59))
    await expect(run(under, 'run', 'kopje')).rejects.toMatchObject({
      code: 'VITRINE_FEED_HELD',
      message: expect.stringMatching(/61 of the feed's 120 offers.*feeds run kopje --accept/s),
    })
    expect(await runJson(under, 'list')).toMatchObject([
      { status: 'held', offers: 120, warnings: [{ remedy: 'vitrine catalog feeds run kopje --accept' }] },
    ])
    await run(under, 'run', 'kopje', '--accept')
    expect(await runJson(under, 'list')).toMatchObject([{ status: 'ok', offers: 59, removed: 61 }])
  })

  it('--max-removed - sets the limit of a feed, and of an import', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(120))
    await addKopje(under, server, '--max-removed', '60%')
    await run(under, 'run', 'kopje')
    server.serve(makeTable(59))
    await run(under, 'run', 'kopje')
    expect(under.out.at(-1)).toContain('59 products')
    const file = join(under.folder, 'other.csv')
    writeFileSync(file, makeTable(120))
    await runCatalogCommand(under, 'import', file)
    writeFileSync(file, makeTable(100))
    await expect(runCatalogCommand(under, 'import', file, '--max-removed', '10')).rejects.toMatchObject({
      message: expect.stringMatching(/\. If the file is right, repeat the command with --accept$/),
    })
    await runCatalogCommand(under, 'import', file, '--max-removed', '10', '--accept')
    expect(under.out.at(-1)).toContain('100 products')
  })

  it('address that fails - the reason without the address, exit code 1, and the state', async () => {
    const under = createFeedCommand()
    await addKopje(under, { url: 'http://127.0.0.1:1' })
    await expect(run(under, 'run', 'kopje')).rejects.toMatchObject({
      code: 'VITRINE_FEED_FETCH_FAILED',
      message: 'http://127.0.0.1:1/… cannot be fetched (connection refused)',
    })
    expect(await runJson(under, 'list')).toMatchObject([
      { status: 'failed', error: 'http://127.0.0.1:1/… cannot be fetched (connection refused)' },
    ])
  })
})

describe('catalog feeds set, remove', () => {
  it('set - changes the given settings only; none clears one', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(3))
    await addKopje(under, server, '--network', 'awin', '--merchant', 'Kopje')
    await run(under, 'set', 'kopje', '--every', '1d', '--merchant', 'none')
    expect(await runJson(under, 'list')).toMatchObject([
      { everySeconds: 86_400, merchant: null, network: 'awin', maxRemovedPercent: 50 },
    ])
    await run(under, 'set', 'kopje', '--every', 'none')
    expect(await runJson(under, 'list')).toMatchObject([{ everySeconds: null, nextRunAt: null }])
    await run(under, 'run', 'kopje')
    await run(under, 'set', 'kopje', '--merchant', 'Other')
    await run(under, 'run', 'kopje')
    expect(under.out.at(-1)).toContain('3 products, 3 offers')
  })

  it('address for a feed that was imported from a file - gets a schedule', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(3))
    const file = join(under.folder, 'kopje.csv')
    writeFileSync(file, makeTable(2))
    await runCatalogCommand(under, 'import', file)
    await expect(run(under, 'run', 'kopje')).rejects.toMatchObject({
      message: expect.stringContaining('vitrine catalog import FILE --feed kopje'),
    })
    await run(under, 'set', 'kopje', '--url', server.url)
    await run(under, 'run', 'kopje')
    expect(await runJson(under, 'list')).toMatchObject([{ everySeconds: 21_600, products: 3 }])
  })

  it('remove - only with --yes when the feed has offers', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(`${makeTable(3)}1,No price,https://kopje.example/,in_stock,\n`)
    await addKopje(under, server)
    await run(under, 'run', 'kopje')
    const listRejects = (): string[] =>
      readdirSync(under.folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
        path.endsWith('.rejects'),
      )
    expect(listRejects()).toHaveLength(1)
    await expect(run(under, 'remove', 'kopje')).rejects.toMatchObject({
      message: 'the feed "kopje" has 3 offers, which would be removed, too; add --yes',
    })
    expect(await runJson(under, 'remove', 'kopje', '--yes')).toEqual({
      name: 'kopje',
      removed: true,
      offers: 3,
    })
    expect(await runJson(under, 'list')).toEqual([])
    expect(listRejects()).toEqual([])
  })
})

describe('catalog feeds, invalid input', () => {
  it.each<[string, readonly string[], string]>([
    ['name', ['add', 'a b', '--url', 'https://a.example/'], 'a name of a feed has at most 64'],
    ['address', ['add', 'a', '--url', 'a.example'], '--url accepts an address'],
    ['FTP', ['add', 'a', '--url', 'ftp://a.example/'], 'addresses of FTP are not supported'],
    ['secret in the host', ['add', 'a', '--url', 'https://${KEY}.example/'], 'may stand in the path'],
    [
      'name of a secret',
      ['add', 'a', '--url', 'https://a.example/${key}'],
      'needs a name of capital letters',
    ],
    [
      'interval',
      ['add', 'a', '--url', 'https://a.example/', '--every', '1m'],
      '--every accepts a time from 5m',
    ],
    [
      'percentage',
      ['add', 'a', '--url', 'https://a.example/', '--max-removed', '101%'],
      '--max-removed accepts',
    ],
    ['map', ['add', 'a', '--url', 'https://a.example/', '--map', '/nowhere.json'], 'cannot be read (ENOENT)'],
    ['format', ['add', 'a', '--url', 'https://a.example/', '--format', 'xls'], '--format accepts ndjson'],
    ['currency', ['add', 'a', '--url', 'https://a.example/', '--currency', '€'], '--currency accepts a code'],
    ['decimal sign', ['add', 'a', '--url', 'https://a.example/', '--decimal', ';'], '--decimal accepts'],
    ['encoding', ['set', 'kopje', '--encoding', 'utf-7'], '--encoding accepts the name of an encoding'],
    ['unknown feed', ['run', 'b'], 'there is no feed "b"; there are kopje'],
    ['existing name', ['add', 'kopje', '--url', 'https://a.example/'], 'a feed "kopje" already exists'],
    ['nothing to set', ['set', 'kopje'], 'nothing to set'],
    ['unknown channel', ['set', 'kopje', '--channel', CHANNEL.replace('a', 'b')], 'no channel'],
  ])('%s - UsageError that says what is accepted', async (_what, args, message) => {
    const under = createFeedCommand()
    await addKopje(under, { url: 'https://feeds.example' })
    await expect(run(under, ...args)).rejects.toMatchObject({
      code: 'VITRINE_USAGE',
      message: expect.stringContaining(message),
    })
    expect(await runJson<unknown[]>(under, 'list')).toHaveLength(1)
  })
})

describe('catalog import of an address', () => {
  it('is fetched once, as a feed named after the file in the address', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(makeTable(2))
    await runCatalogCommand(
      under,
      'import',
      `${server.url}/shop/Kopje.csv?token=${SECRET}`,
      '--channel',
      CHANNEL,
    )
    expect(under.out.at(-1)).toBe(`2 products, 2 offers, 0 rejected; channel ${CHANNEL}`)
    expect(await runJson(under, 'list')).toMatchObject([{ name: 'Kopje', address: null, products: 2 }])
    expect(under.err.join('')).not.toContain(SECRET)
  })
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'supertest'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCatalogService } from '../../../src/catalog-service/service.ts'
import { createLogger } from '../../../src/observability/logger.ts'
import { requestValidated } from '../openapi-validation.ts'
import { runInProcess } from '../../cli/run-cli.ts'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../../cli/catalog-cli.ts'

const A = '952a0000-0000-4000-8000-0000000000a1'
const B = '952a0000-0000-4000-8000-0000000000b2'
const GTIN = '00000000000017'

/** Send a GET request with a key. */
type RequestWithKey = (path: string, key: string) => Test

async function startService(cli: CatalogCli): Promise<RequestWithKey> {
  const store = await cli.openStore()
  const service = createCatalogService({
    store,
    logger: createLogger({ level: 'silent' }),
  })
  const { url } = await service.listen('127.0.0.1', 0)
  onTestFinished(() => service.close())
  return (path, key) => requestValidated(url).get(path).set('Authorization', `Bearer ${key}`)
}

type Key = { id: string; key: string }

/** Create two organizations with a key, a channel and offers each, only by commands, and start a service for them. */
async function createTwoOrganizations(): Promise<{
  cli: CatalogCli
  request: RequestWithKey
  first: Key
  second: Key
}> {
  const cli = createCatalogCli()
  const keys: Key[] = []
  for (const [name, id] of [
    ['First', A],
    ['Second', B],
  ] as const) {
    await cli.runJson('organizations', 'add', name)
    keys.push(await cli.runJson<Key>('keys', 'add', 'web', '--organization', name))
    await cli.runJson('channels', 'add', 'Site', '--organization', name, '--id', id)
  }
  await cli.runJson('networks', 'add', 'Net', '--template', 'https://net.example/?p={publisher}&u={url}')
  await cli.runJson('merchants', 'add', 'Shop', '--network', 'Net', '--reference', '77')
  await cli.runJson('networks', 'assign', 'Net', '--channel', A, '--publisher', 'p1')
  await cli.runJson('networks', 'assign', 'Net', '--channel', B, '--publisher', 'p2')
  await cli.runJson('approvals', 'add', 'Shop', '--channel', A)
  await importFeedFor(cli, A, [makeFeedRow('17', ['Shop'], ['Net'])])
  await importFeedFor(cli, B, [makeFeedRow('24', ['Shop', 'Other'], ['Net'])])
  const [first, second] = keys as [Key, Key]
  return { cli, request: await startService(cli), first, second }
}

const toProductPath = (channel: string, gtin = GTIN): string => `/v0/channels/${channel}/products/${gtin}`

describe('catalog created by commands, requested over HTTP', () => {
  it('two organizations - each gets only its channel and its offers', async () => {
    const { request, first, second } = await createTwoOrganizations()
    expect((await request('/v0/channels', first.key)).body.items).toEqual([
      { id: A, name: 'Site', kind: 'website', url: null },
    ])
    expect((await request('/v0/channels', second.key)).body.items).toMatchObject([{ id: B }])
    expect((await request(toProductPath(A), first.key)).body).toMatchObject({
      gtin: GTIN,
      offers: [{ network: 'Net' }],
    })
    expect((await request(toProductPath(A, '24'), first.key)).status).toBe(404)
    expect((await request(toProductPath(B, '24'), second.key)).body.offers).toHaveLength(2)
    expect((await request(toProductPath(A), second.key)).status).toBe(404)
    expect((await request(toProductPath(B, '24'), first.key)).status).toBe(404)
  })

  it('approval revoked - offers hidden at once; approved again - visible', async () => {
    const { cli, request, first } = await createTwoOrganizations()
    await cli.runJson('approvals', 'revoke', 'Shop', '--channel', A)
    expect((await request(toProductPath(A), first.key)).status).toBe(404)
    expect((await request(`/v0/channels/${A}/products`, first.key)).body.items).toEqual([])
    await cli.runJson('merchants', 'approve', 'Shop', '--channel', A)
    expect((await request(toProductPath(A), first.key)).status).toBe(200)
  })

  it('key revoked - 401 at once, also after its removal; the other key stays valid', async () => {
    const { cli, request, first, second } = await createTwoOrganizations()
    await cli.runJson('keys', 'revoke', first.id)
    expect((await request('/v0/channels', first.key)).status).toBe(401)
    await cli.runJson('keys', 'remove', first.id)
    expect((await request('/v0/channels', first.key)).status).toBe(401)
    expect((await request('/v0/channels', second.key)).status).toBe(200)
  })

  it('network unassigned - its offers are hidden; assigned again - visible, with their approvals', async () => {
    const { cli, request, first } = await createTwoOrganizations()
    await cli.runJson('networks', 'unassign', 'Net', '--channel', A)
    expect((await request(toProductPath(A), first.key)).status).toBe(404)
    await cli.runJson('networks', 'assign', 'Net', '--channel', A)
    expect((await request(toProductPath(A), first.key)).status).toBe(200)
  })

  it('channel removed - 404, and not listed; a new one gets its network channel', async () => {
    const { cli, request, first } = await createTwoOrganizations()
    await cli.runJson('channels', 'remove', A)
    expect((await request(`/v0/channels/${A}/products`, first.key)).status).toBe(404)
    expect((await request('/v0/channels', first.key)).body.items).toEqual([])
    const { id } = await cli.runJson<{ id: string }>('channels', 'add', 'New', '--organization', 'First')
    await cli.runJson('networks', 'assign', 'Net', '--channel', id)
    expect((await request(toProductPath(id), first.key)).body.offers).toHaveLength(1)
  })

  it('merchant, network, organization removed - their offers are removed, also for a new record with the same id', async () => {
    const { cli, request, first, second } = await createTwoOrganizations()
    await cli.runJson('merchants', 'remove', 'Other', '--yes')
    expect((await request(toProductPath(B, '24'), second.key)).body.offers).toHaveLength(1)
    await cli.runJson('organizations', 'remove', 'Second', '--yes')
    expect((await request('/v0/channels', second.key)).status).toBe(401)
    const { id } = await cli.runJson<{ id: string }>('channels', 'add', 'New', '--organization', 'First')
    await cli.runJson('networks', 'assign', 'Net', '--channel', id, '--publisher', 'p3')
    await cli.runJson('approvals', 'add', '--all', '--channel', id)
    expect((await request(toProductPath(id, '24'), first.key)).status).toBe(404)
    await cli.runJson('networks', 'remove', 'Net', '--yes')
    expect((await request(toProductPath(A), first.key)).status).toBe(404)
  })

  it('daily limit - applies from the next request, and the list shows the requests made', async () => {
    const { cli, request, first } = await createTwoOrganizations()
    expect((await request('/v0/channels', first.key)).status).toBe(200)
    await cli.runJson('organizations', 'set', 'First', '--daily-limit', '1')
    expect((await request('/v0/channels', first.key)).status).toBe(429)
    await cli.runJson('organizations', 'set', 'First', '--daily-limit', 'none')
    expect((await request('/v0/channels', first.key)).status).toBe(200)
    expect(await cli.runJson('organizations')).toMatchObject([{ requestsToday: 2 }, { requestsToday: 0 }])
  })
})

describe('docs/operate/catalog-service.md', () => {
  it('the example - each command exits with 0, and both keys get the product, each with its own links', async () => {
    const cli = createCatalogCli()
    const [, table = '', example = ''] =
      /## Example: two teams[^]*?```csv\n([^`]*)```[^`]*```sh\n([^`]*)```/.exec(
        readFileSync('docs/operate/catalog-service.md', 'utf8'),
      ) ?? []
    const feed = join(cli.folder, 'shop.csv')
    writeFileSync(feed, table)
    const outputs: string[] = []
    for (const line of example.trim().split('\n')) {
      const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
      const typed = args.slice(2).map((word) => (word === 'shop.csv' ? feed : word))
      const { code, out, err } = await cli.run(...typed)
      expect(code, `${line}: ${err}`).toBe(0)
      outputs.push(out)
    }
    const [first = '', second = ''] = outputs.slice(-2)
    const request = await startService(cli)
    expect((await request('/v0/channels', second)).body.items).toEqual([
      { id: B, name: 'Lenses', kind: 'website', url: 'https://lenses.example/' },
    ])
    for (const [channel, key, publisher] of [
      [A, first, '67890'],
      [B, second, '67891'],
    ] as const) {
      const { items } = (await request(`/v0/channels/${channel}/products`, key)).body
      expect(items).toHaveLength(2)
      const page = encodeURIComponent('https://kopje.example/arne-2')
      expect(items[0].offers).toMatchObject([
        {
          merchant: { name: 'Kopje' },
          affiliate_url: `https://www.awin1.com/cread.php?awinmid=12345&awinaffid=${publisher}&ued=${page}`,
        },
      ])
    }
    expect(await cli.runJson('approvals')).toMatchObject([{ channelId: A }, { channelId: B }])
  })

  it('the templates - are all accepted', async () => {
    const templates = [
      ...readFileSync('docs/operate/catalog-service.md', 'utf8').matchAll(/\| `(https:[^`]*\{url\}[^`]*)`/g),
    ]
    expect(templates.length).toBeGreaterThan(2)
    const cli = createCatalogCli()
    for (const [index, [, template = '']] of templates.entries())
      expect(await cli.run('networks', 'add', `n${index}`, '--template', template)).toMatchObject({
        code: 0,
        err: '',
      })
  })
})

describe('catalog locked by an import', () => {
  it('lists - work at once; changes - exit with 1 and the reason, and nothing is changed', async () => {
    const { cli } = await createTwoOrganizations()
    const store = await cli.openStore()
    await store.write(async (transaction) => {
      await transaction.updateTable('products').set({ title: 'T' }).execute()
      for (const command of ['organizations', 'keys', 'channels', 'networks', 'merchants', 'approvals'])
        expect((await cli.run(command)).code).toBe(0)
      const { code, out, err } = await cli.run('networks', 'add', 'Late')
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/^vitrine: another import is running.*try again.*\(VITRINE_STORE_FAILED\)\n$/)
    })
    expect(await cli.runJson('networks')).toHaveLength(1)
  })

  it('unusable folder, invalid file - 1, with the message of the store', async () => {
    const cli = createCatalogCli()
    const settings = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${cli.folder}`, VITRINE_LOG_LEVEL: 'silent' }
    expect(await runInProcess(['catalog', 'networks'], settings)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('VITRINE_STORE_FAILED'),
    })
  })

  it('damaged table - 1, with the message of the database', async () => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'Net')
    const store = await cli.openStore()
    await store.write((database) => database.schema.alterTable('network_channels').renameTo('gone').execute())
    const { code, err } = await cli.run('networks')
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/no such table: network_channels|"network_channels" does not exist/),
    ])
  })
})

describe('catalog, help of every command', () => {
  it.each(['organizations', 'keys', 'channels', 'networks', 'merchants', 'approvals'])(
    '%s --help - 0, with subcommands, the default one, and examples',
    async (command) => {
      const { code, out, err } = await runInProcess(['catalog', command, '--help'], {
        VITRINE_PORT: 'not read for help',
      })
      expect([code, err]).toEqual([0, ''])
      for (const args of [
        'list',
        'add',
        'remove',
        `"${command}" without a command is`,
        `\n  vitrine catalog ${command} `,
      ])
        expect(out).toContain(args)
    },
  )

  it('help of a subcommand - its options and examples', async () => {
    const { code, out } = await runInProcess(['catalog', 'networks', 'assign', '--help'])
    expect(code).toBe(0)
    for (const args of ['--publisher', '--network-channel', '--json', 'vitrine catalog networks assign awin'])
      expect(out).toContain(args)
  })

  it.each([
    ['networks', 'nonsense'],
    ['networks', 'add'],
    ['merchants', 'approve', 'Shop'],
    ['organizations', '--nonsense'],
    ['approvals', 'list', 'extra'],
  ])('catalog %s %s - 64, and no standard output', async (...args) => {
    expect(await runInProcess(['catalog', ...args])).toMatchObject({ code: 64, out: '' })
  })
})

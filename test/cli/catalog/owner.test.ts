import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'supertest'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCatalogService } from '../../../src/catalog-service/service.ts'
import { createLogger } from '../../../src/observability/logger.ts'
import { requestValidated as askValid } from '../../catalog-service/openapi-validation.ts'
import { runInProcess } from '../run-cli.ts'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../catalog-cli.ts'

const A = '952a0000-0000-4000-8000-0000000000a1'
const B = '952a0000-0000-4000-8000-0000000000b2'
const GTIN = '00000000000017'

/** Asks a service with somebody's key. */
type RequestWithKey = (path: string, key: string) => Test

async function startService(cli: CatalogCli): Promise<RequestWithKey> {
  const store = await cli.openStore()
  const service = createCatalogService({
    store,
    logger: createLogger({ level: 'silent' }),
  })
  const { url } = await service.listen('127.0.0.1', 0)
  onTestFinished(() => service.close())
  return (path, key) => askValid(url).get(path).set('Authorization', `Bearer ${key}`)
}

type Key = { id: string; key: string }

/** Two organizations with a key, a channel and offers each, made by commands alone, and a service over them. */
async function createTwoOrganizations(): Promise<{
  owner: CatalogCli
  ask: RequestWithKey
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
  return { owner: cli, ask: await startService(cli), first, second }
}

const toProductPath = (channel: string, gtin = GTIN): string => `/v0/channels/${channel}/products/${gtin}`

describe('catalog built by commands alone, asked over HTTP', () => {
  it('two organizations - each sees its own channel, its own offers, and not those of the other', async () => {
    const { ask, first, second } = await createTwoOrganizations()
    expect((await ask('/v0/channels', first.key)).body.items).toEqual([
      { id: A, name: 'Site', kind: 'website', url: null },
    ])
    expect((await ask('/v0/channels', second.key)).body.items).toMatchObject([{ id: B }])
    expect((await ask(toProductPath(A), first.key)).body).toMatchObject({
      gtin: GTIN,
      offers: [{ network: 'Net' }],
    })
    expect((await ask(toProductPath(A, '24'), first.key)).status).toBe(404)
    expect((await ask(toProductPath(B, '24'), second.key)).body.offers).toHaveLength(2)
    expect((await ask(toProductPath(A), second.key)).status).toBe(404)
    expect((await ask(toProductPath(B, '24'), first.key)).status).toBe(404)
  })

  it('approval revoked - gone at once; approved again - back', async () => {
    const { owner, ask, first } = await createTwoOrganizations()
    await owner.runJson('approvals', 'revoke', 'Shop', '--channel', A)
    expect((await ask(toProductPath(A), first.key)).status).toBe(404)
    expect((await ask(`/v0/channels/${A}/products`, first.key)).body.items).toEqual([])
    await owner.runJson('merchants', 'approve', 'Shop', '--channel', A)
    expect((await ask(toProductPath(A), first.key)).status).toBe(200)
  })

  it('key revoked - 401 at once, also when it is removed; the other goes on', async () => {
    const { owner, ask, first, second } = await createTwoOrganizations()
    await owner.runJson('keys', 'revoke', first.id)
    expect((await ask('/v0/channels', first.key)).status).toBe(401)
    await owner.runJson('keys', 'remove', first.id)
    expect((await ask('/v0/channels', first.key)).status).toBe(401)
    expect((await ask('/v0/channels', second.key)).status).toBe(200)
  })

  it('network unassigned - its offers are gone; assigned again - back, with their approvals', async () => {
    const { owner, ask, first } = await createTwoOrganizations()
    await owner.runJson('networks', 'unassign', 'Net', '--channel', A)
    expect((await ask(toProductPath(A), first.key)).status).toBe(404)
    await owner.runJson('networks', 'assign', 'Net', '--channel', A)
    expect((await ask(toProductPath(A), first.key)).status).toBe(200)
  })

  it('channel removed - 404, and not in the list; a new one gets its network channel', async () => {
    const { owner, ask, first } = await createTwoOrganizations()
    await owner.runJson('channels', 'remove', A)
    expect((await ask(`/v0/channels/${A}/products`, first.key)).status).toBe(404)
    expect((await ask('/v0/channels', first.key)).body.items).toEqual([])
    const { id } = await owner.runJson<{ id: string }>('channels', 'add', 'New', '--organization', 'First')
    await owner.runJson('networks', 'assign', 'Net', '--channel', id)
    expect((await ask(toProductPath(id), first.key)).body.offers).toHaveLength(1)
  })

  it('merchant, network, organization removed - their offers are gone; nothing of them comes back under a new name', async () => {
    const { owner, ask, first, second } = await createTwoOrganizations()
    await owner.runJson('merchants', 'remove', 'Other', '--yes')
    expect((await ask(toProductPath(B, '24'), second.key)).body.offers).toHaveLength(1)
    await owner.runJson('organizations', 'remove', 'Second', '--yes')
    expect((await ask('/v0/channels', second.key)).status).toBe(401)
    const { id } = await owner.runJson<{ id: string }>('channels', 'add', 'New', '--organization', 'First')
    await owner.runJson('networks', 'assign', 'Net', '--channel', id, '--publisher', 'p3')
    await owner.runJson('approvals', 'add', '--all', '--channel', id)
    expect((await ask(toProductPath(id, '24'), first.key)).status).toBe(404)
    await owner.runJson('networks', 'remove', 'Net', '--yes')
    expect((await ask(toProductPath(A), first.key)).status).toBe(404)
  })

  it('daily limit - holds from the next request on, and the list shows what was used', async () => {
    const { owner, ask, first } = await createTwoOrganizations()
    expect((await ask('/v0/channels', first.key)).status).toBe(200)
    await owner.runJson('organizations', 'set', 'First', '--daily-limit', '1')
    expect((await ask('/v0/channels', first.key)).status).toBe(429)
    await owner.runJson('organizations', 'set', 'First', '--daily-limit', 'none')
    expect((await ask('/v0/channels', first.key)).status).toBe(200)
    expect(await owner.runJson('organizations')).toMatchObject([{ requestsToday: 2 }, { requestsToday: 0 }])
  })
})

describe('docs/operate/catalog-service.md', () => {
  it('its worked example - every line ends with 0, and both keys see the product, each with links of its own', async () => {
    const owner = createCatalogCli()
    const [, table = '', example = ''] =
      /## Example: two teams[^]*?```csv\n([^`]*)```[^`]*```sh\n([^`]*)```/.exec(
        readFileSync('docs/operate/catalog-service.md', 'utf8'),
      ) ?? []
    const feed = join(owner.folder, 'shop.csv')
    writeFileSync(feed, table)
    const said: string[] = []
    for (const line of example.trim().split('\n')) {
      const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
      const typed = words.slice(2).map((word) => (word === 'shop.csv' ? feed : word))
      const { code, out, err } = await owner.run(...typed)
      expect(code, `${line}: ${err}`).toBe(0)
      said.push(out)
    }
    const [first = '', second = ''] = said.slice(-2)
    const ask = await startService(owner)
    expect((await ask('/v0/channels', second)).body.items).toEqual([
      { id: B, name: 'Lenses', kind: 'website', url: 'https://lenses.example/' },
    ])
    for (const [channel, key, publisher] of [
      [A, first, '67890'],
      [B, second, '67891'],
    ] as const) {
      const { items } = (await ask(`/v0/channels/${channel}/products`, key)).body
      expect(items).toHaveLength(2)
      const page = encodeURIComponent('https://kopje.example/arne-2')
      expect(items[0].offers).toMatchObject([
        {
          merchant: { name: 'Kopje' },
          affiliate_url: `https://www.awin1.com/cread.php?awinmid=12345&awinaffid=${publisher}&ued=${page}`,
        },
      ])
    }
    expect(await owner.runJson('approvals')).toMatchObject([{ channelId: A }, { channelId: B }])
  })

  it('its templates - can all be used', async () => {
    const templates = [
      ...readFileSync('docs/operate/catalog-service.md', 'utf8').matchAll(/\| `(https:[^`]*\{url\}[^`]*)`/g),
    ]
    expect(templates.length).toBeGreaterThan(2)
    const owner = createCatalogCli()
    for (const [index, [, template = '']] of templates.entries())
      expect(await owner.run('networks', 'add', `n${index}`, '--template', template)).toMatchObject({
        code: 0,
        err: '',
      })
  })
})

describe('catalog that an import holds', () => {
  it('lists - answer at once; changes - end with 1 and say why, and nothing is changed', async () => {
    const { owner } = await createTwoOrganizations()
    const store = await owner.openStore()
    await store.write(async (transaction) => {
      await transaction.updateTable('products').set({ title: 'T' }).execute()
      for (const noun of ['organizations', 'keys', 'channels', 'networks', 'merchants', 'approvals'])
        expect((await owner.run(noun)).code).toBe(0)
      const { code, out, err } = await owner.run('networks', 'add', 'Late')
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/^vitrine: another import is running.*try again.*\(VITRINE_STORE_FAILED\)\n$/)
    })
    expect(await owner.runJson('networks')).toHaveLength(1)
  })

  it('folder that cannot be used, file that is none - 1, in the words of the store', async () => {
    const owner = createCatalogCli()
    const settings = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${owner.folder}`, VITRINE_LOG_LEVEL: 'silent' }
    expect(await runInProcess(['catalog', 'networks'], settings)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('VITRINE_STORE_FAILED'),
    })
  })

  it('table that is damaged - 1, and what the database said', async () => {
    const owner = createCatalogCli()
    await owner.runJson('networks', 'add', 'Net')
    const store = await owner.openStore()
    await store.write((database) => database.schema.alterTable('network_channels').renameTo('gone').execute())
    const { code, err } = await owner.run('networks')
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/no such table: network_channels|"network_channels" does not exist/),
    ])
  })
})

describe('catalog, help of every noun', () => {
  it.each(['organizations', 'keys', 'channels', 'networks', 'merchants', 'approvals'])(
    '%s --help - 0, verbs, what it does alone, and examples',
    async (noun) => {
      const { code, out, err } = await runInProcess(['catalog', noun, '--help'], {
        VITRINE_PORT: 'not read for help',
      })
      expect([code, err]).toEqual([0, ''])
      for (const words of [
        'list',
        'add',
        'remove',
        `"${noun}" without a command is`,
        `\n  vitrine catalog ${noun} `,
      ])
        expect(out).toContain(words)
    },
  )

  it('help of a verb - its options and its examples', async () => {
    const { code, out } = await runInProcess(['catalog', 'networks', 'assign', '--help'])
    expect(code).toBe(0)
    for (const words of [
      '--publisher',
      '--network-channel',
      '--json',
      'vitrine catalog networks assign awin',
    ])
      expect(out).toContain(words)
  })

  it.each([
    ['networks', 'nonsense'],
    ['networks', 'add'],
    ['merchants', 'approve', 'Shop'],
    ['organizations', '--nonsense'],
    ['approvals', 'list', 'extra'],
  ])('catalog %s %s - 64, and nothing on output', async (...words) => {
    expect(await runInProcess(['catalog', ...words])).toMatchObject({ code: 64, out: '' })
  })
})

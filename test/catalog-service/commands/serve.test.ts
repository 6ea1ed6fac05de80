import request from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import { seedSampleData } from '../../../src/catalog-service/sample/seed-sample-data.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { requestValidated } from '../openapi-validation.ts'
import { type TestCommand, createTestCommand, runCatalogCommand, withJson } from './test-command.ts'

/** A list does not create the catalog itself. */
async function createEmpty({ context }: TestCommand): Promise<void> {
  const { clock, config } = context
  await (await openCatalogStore({ database: config.catalogDatabase, clock })).close()
}

async function putSample({ context }: TestCommand): Promise<void> {
  const store = await openCatalogStore({
    database: context.config.catalogDatabase,
    clock: context.clock,
  })
  await seedSampleData(store, 'http://127.0.0.1:3000')
  await store.close()
}

describe('catalog serve', () => {
  it('no key - prints its address and how to create a key; exit code 0 after the signal', async () => {
    const under = createTestCommand()
    const running = runCatalogCommand(under, 'serve')
    await vi.waitFor(() => expect(under.err).toHaveLength(1))
    expect(under.err[0]).toContain('vitrine catalog keys add NAME')
    const url = under.out[0]?.replace('catalog service: ', '') ?? ''
    expect((await requestValidated(url).get('/v0/channels')).status).toBe(401)
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect([path, (await request(url).get(path)).status]).toEqual([path, 200])
    under.stopController.abort()
    expect(await running).toBe(0)
  })

  it('with a key, --json - only the address as an object; the key is accepted', async () => {
    const under = withJson(createTestCommand())
    await runCatalogCommand(under, 'keys', 'add', 'shop')
    const { key } = JSON.parse(under.out[0] ?? '') as { key: string }
    await putSample(under)
    const running = runCatalogCommand(under, 'serve')
    await vi.waitFor(() => expect(under.out).toHaveLength(2))
    const { url } = JSON.parse(under.out[1] ?? '') as { url: string }
    const { body } = await requestValidated(url)
      .get('/v0/channels')
      .set('Authorization', `Bearer ${key}`)
      .expect(200)
    expect(body.items).toHaveLength(3)
    expect(under.err).toEqual([])
    under.stopController.abort()
    expect(await running).toBe(0)
  })

  it('stop requested before the start - ends at once', async () => {
    const under = createTestCommand()
    under.stopController.abort()
    expect(await runCatalogCommand(under, 'serve')).toBe(0)
  })
})

describe('catalog keys', () => {
  it('add, list, revoke, list - the key is printed once', async () => {
    const under = createTestCommand()
    await runCatalogCommand(under, 'keys', 'add', ' web ')
    const key = under.out[0] ?? ''
    expect(key).toMatch(/^vk_[\w-]{43}$/)
    const id = /[0-9a-f-]{36}/.exec(under.err.join(''))?.[0] ?? ''
    await runCatalogCommand(under, 'keys', 'list')
    expect(under.out.slice(1)).toEqual([
      `${id}  web`,
      `    ${key.slice(0, 8)}…  My organization`,
      '    created 2026-05-01, never used, valid',
    ])
    await runCatalogCommand(under, 'keys', 'revoke', id)
    expect(under.out[4]).toBe(`revoked ${id}`)
    await runCatalogCommand(under, 'keys', 'list')
    expect(under.out[7]).toContain('revoked 2026-05-01')
    expect([...under.out.slice(1), ...under.err].join('')).not.toContain(key)
  })

  it('--json - objects', async () => {
    const under = withJson(createTestCommand())
    await runCatalogCommand(under, 'keys', 'add', 'web')
    const { id } = JSON.parse(under.out[0] ?? '') as { id: string }
    await runCatalogCommand(under, 'keys', 'revoke', id)
    expect(JSON.parse(under.out[1] ?? '')).toEqual({ id, revoked: true })
    await runCatalogCommand(under, 'keys', 'list')
    expect(JSON.parse(under.out[2] ?? '')).toEqual([
      {
        id,
        name: 'web',
        prefix: expect.stringMatching(/^vk_.{5}$/),
        organizationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        organization: 'My organization',
        createdAt: '2026-05-01T00:00:00.000Z',
        lastUsedAt: null,
        revokedAt: '2026-05-01T00:00:00.000Z',
      },
    ])
  })

  it('no keys - prints how to create one', async () => {
    const under = createTestCommand()
    await createEmpty(under)
    await runCatalogCommand(under, 'keys', 'list')
    expect(under.out).toEqual([])
    expect(under.err.join('')).toContain('keys add')
  })

  it('empty name, unknown id - UsageError', async () => {
    const under = createTestCommand()
    const refused = { code: 'VITRINE_USAGE' }
    await expect(runCatalogCommand(under, 'keys', 'add', ' ')).rejects.toMatchObject(refused)
    await expect(runCatalogCommand(under, 'keys', 'revoke', 'x')).rejects.toMatchObject(refused)
  })
})

describe('catalog channels', () => {
  it('no channels - prints how to create one', async () => {
    const under = createTestCommand()
    await createEmpty(under)
    await runCatalogCommand(under, 'channels', 'list')
    expect(under.err.join('')).toContain('catalog import')
  })

  it('sample data - three lines each, or an array', async () => {
    const under = createTestCommand()
    await putSample(under)
    await runCatalogCommand(under, 'channels', 'list')
    expect(under.out).toHaveLength(9)
    expect(under.out[6]).toMatch(/^952a0000-0000-4000-8000-000000000003  youtube +Bench & Bean$/)
    expect(under.out[7]).toBe('    (no address)')
    expect(under.out[8]).toMatch(/^ {4}My organization; [A-Z]/)
    await runCatalogCommand(withJson(under), 'channels', 'list')
    expect(JSON.parse(under.out[9] ?? '')).toHaveLength(3)
  })
})

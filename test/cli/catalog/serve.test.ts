import request from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import { seedSampleData } from '../../../src/catalog-service/sample/seed-sample-data.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { requestValidated } from '../../catalog-service/openapi-validation.ts'
import { type TestCommand, createTestCommand, runCatalogCommand, withJson } from './test-command.ts'

/** Create an empty catalog, because a list command does not create one. */
async function createEmpty({ context }: TestCommand): Promise<void> {
  const { clock, config } = context
  await (await openCatalogStore({ database: config.catalogDatabase, clock })).close()
}

async function seedSample({ context }: TestCommand): Promise<void> {
  const store = await openCatalogStore({
    database: context.config.catalogDatabase,
    clock: context.clock,
  })
  await seedSampleData(store, 'http://127.0.0.1:3000')
  await store.close()
}

describe('catalog serve', () => {
  it('serve until the stop signal - prints its address and the command that adds a key, and exits with 0', async () => {
    const command = createTestCommand()
    const running = runCatalogCommand(command, 'serve')
    await vi.waitFor(() => expect(command.err).toHaveLength(1))
    expect(command.err[0]).toContain('vitrine catalog keys add NAME')
    const url = command.out[0]?.replace('catalog service: ', '') ?? ''
    expect((await requestValidated(url).get('/v0/channels')).status).toBe(401)
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect([path, (await request(url).get(path)).status]).toEqual([path, 200])
    command.stopController.abort()
    expect(await running).toBe(0)
  })

  it('serve --json with a key - prints only an object with the address; the key works', async () => {
    const command = withJson(createTestCommand())
    await runCatalogCommand(command, 'keys', 'add', 'shop')
    const { key } = JSON.parse(command.out[0] ?? '') as { key: string }
    await seedSample(command)
    const running = runCatalogCommand(command, 'serve')
    await vi.waitFor(() => expect(command.out).toHaveLength(2))
    const { url } = JSON.parse(command.out[1] ?? '') as { url: string }
    const { body } = await requestValidated(url)
      .get('/v0/channels')
      .set('Authorization', `Bearer ${key}`)
      .expect(200)
    expect(body.items).toHaveLength(3)
    expect(command.err).toEqual([])
    command.stopController.abort()
    expect(await running).toBe(0)
  })

  it('serve, stopped before it starts - ends at once', async () => {
    const command = createTestCommand()
    command.stopController.abort()
    expect(await runCatalogCommand(command, 'serve')).toBe(0)
  })
})

describe('catalog keys', () => {
  it('keys add, list, revoke, list - the key is shown only once', async () => {
    const command = createTestCommand()
    await runCatalogCommand(command, 'keys', 'add', ' web ')
    const key = command.out[0] ?? ''
    expect(key).toMatch(/^vk_[\w-]{43}$/)
    const id = /[0-9a-f-]{36}/.exec(command.err.join(''))?.[0] ?? ''
    await runCatalogCommand(command, 'keys', 'list')
    expect(command.out.slice(1)).toEqual([
      `${id}  web`,
      `    ${key.slice(0, 8)}…  My organization`,
      '    created 2026-05-01, never used, valid',
    ])
    await runCatalogCommand(command, 'keys', 'revoke', id)
    expect(command.out[4]).toBe(`revoked ${id}`)
    await runCatalogCommand(command, 'keys', 'list')
    expect(command.out[7]).toContain('revoked 2026-05-01')
    expect([...command.out.slice(1), ...command.err].join('')).not.toContain(key)
  })

  it('keys --json - prints objects', async () => {
    const command = withJson(createTestCommand())
    await runCatalogCommand(command, 'keys', 'add', 'web')
    const { id } = JSON.parse(command.out[0] ?? '') as { id: string }
    await runCatalogCommand(command, 'keys', 'revoke', id)
    expect(JSON.parse(command.out[1] ?? '')).toEqual({ id, revoked: true })
    await runCatalogCommand(command, 'keys', 'list')
    expect(JSON.parse(command.out[2] ?? '')).toEqual([
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

  it('no keys - prints the command that adds one', async () => {
    const command = createTestCommand()
    await createEmpty(command)
    await runCatalogCommand(command, 'keys', 'list')
    expect(command.out).toEqual([])
    expect(command.err.join('')).toContain('keys add')
  })

  it('key with an empty name, unknown id - UsageError', async () => {
    const command = createTestCommand()
    const usageError = { code: 'VITRINE_USAGE' }
    await expect(runCatalogCommand(command, 'keys', 'add', ' ')).rejects.toMatchObject(usageError)
    await expect(runCatalogCommand(command, 'keys', 'revoke', 'x')).rejects.toMatchObject(usageError)
  })
})

describe('catalog channels', () => {
  it('no channels - prints the command that creates one', async () => {
    const command = createTestCommand()
    await createEmpty(command)
    await runCatalogCommand(command, 'channels', 'list')
    expect(command.err.join('')).toContain('catalog import')
  })

  it('sample channels - three lines each, or an array with --json', async () => {
    const command = createTestCommand()
    await seedSample(command)
    await runCatalogCommand(command, 'channels', 'list')
    expect(command.out).toHaveLength(9)
    expect(command.out[6]).toMatch(/^952a0000-0000-4000-8000-000000000003  youtube +Bench & Bean$/)
    expect(command.out[7]).toBe('    (no address)')
    expect(command.out[8]).toMatch(/^ {4}My organization; [A-Z]/)
    await runCatalogCommand(withJson(command), 'channels', 'list')
    expect(JSON.parse(command.out[9] ?? '')).toHaveLength(3)
  })
})

import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../src/clock.ts'
import { type PostgresAddress, databaseAddressParser } from '../../../src/config/database-address.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { makeFolder, makeSettings, runBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { addApiKey } from '../../catalog-service/harness.ts'
import { CHANNEL_ID, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { usePostgres } from '../../helpers/postgres.ts'
import { toGtin } from '../../helpers/products.ts'

const server = usePostgres()

type RoleDatabase = Readonly<{ url: string; address: PostgresAddress; role: string; adminUrl: string }>

/** Create a database of the administrator and a role that may only connect to it; `grants` may name the role `ROLE`. */
async function createRoleDatabase(...grants: readonly string[]): Promise<RoleDatabase> {
  const { url: adminUrl, drop } = await server.makeDatabase()
  const role = `vitrine_role_${randomBytes(6).toString('hex')}`
  await server.run(adminUrl, `create role ${role} login`)
  onTestFinished(async () => {
    await server.run(adminUrl, `drop owned by ${role} cascade`)
    await server.run(adminUrl, `drop role ${role}`)
    await drop()
  })
  for (const grant of grants) await server.run(adminUrl, grant.replaceAll('ROLE', role))
  const url = new URL(adminUrl)
  url.username = role
  const address = databaseAddressParser.parse(url.href) as PostgresAddress
  return { url: url.href, address, role, adminUrl }
}

/** Open, write and close one of the two databases. */
const USES = {
  vitrine_copy: async (database: PostgresAddress): Promise<void> => {
    const store = await openStoredCopy({ database, catalog: 'http://catalog.example' })
    try {
      await store.putChannelList([], 1)
    } finally {
      await store.close()
    }
  },
  vitrine_catalog: async (database: PostgresAddress): Promise<void> => {
    const store = await openCatalogStore({ database, clock: systemClock })
    try {
      await addApiKey(store, 'one')
    } finally {
      await store.close()
    }
  },
} as const

test.each(['vitrine_copy', 'vitrine_catalog'] as const)(
  '%s: role that owns only this empty schema - opens and writes',
  async (schema) => {
    const { address } = await createRoleDatabase(`create schema ${schema} authorization ROLE`)
    await expect(USES[schema](address)).resolves.toBeUndefined()
  },
)

test.each(['vitrine_copy', 'vitrine_catalog'] as const)(
  '%s: role that may only use and create in the schema of another - opens and writes',
  async (schema) => {
    const { address } = await createRoleDatabase(
      `create schema ${schema}`,
      `grant usage, create on schema ${schema} to ROLE`,
    )
    await expect(USES[schema](address)).resolves.toBeUndefined()
  },
)

test.each(['vitrine_copy', 'vitrine_catalog'] as const)(
  '%s: role without schema and without the right to create one - is refused with both remedies',
  async (schema) => {
    const { address } = await createRoleDatabase()
    await expect(USES[schema](address)).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
      message: `The schema "${schema}" is missing, and the user may not create it: ${address.label}: permission denied for database ${address.database}`,
      remedy: expect.stringMatching(
        new RegExp(`create schema ${schema} authorization USER.*grant create on database`),
      ),
    })
  },
)

test.each([
  ['vitrine_copy', 'no right'],
  ['vitrine_copy', 'the right to use it'],
  ['vitrine_catalog', 'no right'],
  ['vitrine_catalog', 'the right to use it'],
] as const)(
  '%s: role with %s in the schema of another - is refused with the remedy',
  async (schema, right) => {
    const grants = right === 'no right' ? [] : [`grant usage on schema ${schema} to ROLE`]
    const { address } = await createRoleDatabase(`create schema ${schema}`, ...grants)
    await expect(USES[schema](address)).rejects.toMatchObject({
      message: expect.stringContaining(`may not create or change tables in the schema "${schema}"`),
      remedy: expect.stringContaining(`alter schema ${schema} owner to USER`),
    })
  },
)

test('sync with a role that owns only the schema - stores the walk', async () => {
  const { url, adminUrl } = await createRoleDatabase('create schema vitrine_copy authorization ROLE')
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: toGtin(1) })])
  expect(await runBuilt(['sync'], { ...settings, VITRINE_DATABASE_URL: url })).toMatchObject({ code: 0 })
  expect(await server.run(adminUrl, 'select current_walk from vitrine_copy.copies')).toEqual([
    { current_walk: 1 },
  ])
})

test('check without rights - names the missing schema, the remedy and the setting of the address', async () => {
  const { url, role } = await createRoleDatabase()
  const settings = makeSettings(makeFolder(), { VITRINE_DATABASE_URL: url })
  const { code, out } = await runBuilt(['check'], settings)
  expect(code).toBe(1)
  expect(out).toMatch(
    /stored copy: The schema "vitrine_copy" is missing[^]*authorization USER[^]*The address is set by VITRINE_DATABASE_URL/,
  )
  expect(out).not.toContain(role)
})

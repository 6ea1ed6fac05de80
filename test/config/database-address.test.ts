import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  type DatabaseAddress,
  type PostgresAddress,
  databaseAddressParser,
  describeDatabase,
  parseSerializedAddress,
  serializeDatabaseAddress,
} from '../../src/config/database-address.ts'
import { parseConfig } from '../../src/config/config.ts'

const parseServer = (text: string): PostgresAddress => databaseAddressParser.parse(text) as PostgresAddress

const FULL =
  'postgresql://shop%40user:p%2Fss-word-1@db.example:6543/prices?sslmode=verify-full&sslrootcert=/etc/ca.pem&pool_size=24&connect_timeout_ms=500&statement_timeout_ms=750&application_name=widgets'

describe('server address', () => {
  test('all parts - are parsed and percent-decoded', () => {
    const address = parseServer(FULL)
    expect(address).toMatchObject({
      kind: 'postgres',
      host: 'db.example',
      port: 6543,
      database: 'prices',
      user: 'shop@user',
      tls: 'verify-full',
      tlsRootFile: '/etc/ca.pem',
      poolSize: 24,
      connectTimeoutMs: 500,
      statementTimeoutMs: 750,
      applicationName: 'widgets',
      label: 'db.example:6543/prices',
    })
    expect(address.password?.reveal()).toBe('p/ss-word-1')
  })

  test('only required parts - the others have defaults', () => {
    expect(databaseAddressParser.parse('postgres://me@[::1]/prices')).toMatchObject({
      host: '::1',
      port: 5432,
      password: null,
      tls: 'disable',
      tlsRootFile: null,
      poolSize: 10,
      connectTimeoutMs: 2_000,
      statementTimeoutMs: 1_000,
      applicationName: 'vitrine',
    })
  })

  test('socket folder - replaces the host', () => {
    expect(databaseAddressParser.parse('postgres://me@localhost/prices?host=/run/postgresql')).toMatchObject({
      host: '/run/postgresql',
    })
  })

  test.each([
    ['postgres://db.example/prices', 'the user is missing'],
    ['postgres://me@db.example', 'the database is missing'],
    ['postgres://me@db.example/', 'the database is missing'],
    ['postgres://me@/prices', 'host or port is invalid'],
    ['postgres:prices', 'the host is missing'],
    ['postgres://me@db.example/a/b', 'the database name contains "/"'],
    ['postgres://me@db.example/prices#x', '"#" must be percent-encoded'],
    ['postgres://me@db.example/prices?sslmode=prefer', 'sslmode has an invalid value'],
    ['postgres://me@db.example/prices?sslmode=require&sslmode=disable', 'sslmode is given twice'],
    ['postgres://me@db.example/prices?poolsize=3', 'unknown parameter after "?"'],
    ['postgres://me@db.example/prices?pool_size=1', 'pool_size has an invalid value'],
    ['postgres://me@db.example/prices?pool_size=ten', 'pool_size has an invalid value'],
    ['postgres://me@db.example/prices?statement_timeout_ms=0', 'statement_timeout_ms has an invalid value'],
    ['postgres://me@db.example/prices?host=other.example', 'host has an invalid value'],
    ['postgres://me@db.example/prices?application_name=a%20b', 'application_name has an invalid value'],
    ['postgres://me:%@db.example/prices', '"%" in user, password or database must be written as %25'],
    ['postgres://me@db.example:99999/prices', 'host or port is invalid'],
    ['postgres://me:a/b@db.example/prices', 'host or port is invalid'],
  ])('%s - is rejected with the reason', (text, reason) => {
    expect(databaseAddressParser.parse(text)).toBeUndefined()
    expect(() => parseConfig({ VITRINE_DATABASE_URL: text })).toThrow(`URL: ${reason}`)
  })

  test('password with characters of a URL - is in no message', () => {
    for (const character of '/?#@:%&=[]\\ ') {
      const text = `postgres://me:xq${character}zj@db.example/prices?xq=xq${character}zj`
      expect(databaseAddressParser.explainError?.(text)).not.toMatch(/xq|zj/)
    }
  })

  test('printed, logged or serialized - the password is redacted', () => {
    const address = parseServer(FULL)
    for (const text of [JSON.stringify(address), inspect(address, { depth: 9 }), String(address.text)])
      expect(text).not.toContain('ss-word-1')
  })
})

describe('serialized address', () => {
  test.each(['sqlite:data/copy.db', FULL])('%s - is parsed to an equal address', (text) => {
    const address = databaseAddressParser.parse(text) as DatabaseAddress
    expect(parseSerializedAddress(serializeDatabaseAddress(address))).toEqual(address)
  })

  test('description - has no user and password', () => {
    expect(describeDatabase(databaseAddressParser.parse(FULL) as DatabaseAddress)).toBe(
      'db.example:6543/prices',
    )
    expect(describeDatabase({ kind: 'sqlite', path: 'data/copy.db' })).toBe('data/copy.db')
  })

  test('other text - is an error', () => {
    expect(() => parseSerializedAddress('mysql://x')).toThrow('the database address for a thread is invalid')
  })
})

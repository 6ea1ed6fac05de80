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

  test.each([
    ['postgres://me:pw@localhost/prices?host=/run/postgresql', '/run/postgresql', 5432],
    ['postgres://me:pw@/prices?host=/run/postgresql', '/run/postgresql', 5432],
    ['postgres://me:pw@/prices?host=/cloudsql/shop:europe-west1:db', '/cloudsql/shop:europe-west1:db', 5432],
    ['postgres://me:pw@:6000/prices?host=/run/postgresql', '/run/postgresql', 6000],
    ['postgres://me:pw@%2Frun%2Fpostgresql/prices', '/run/postgresql', 5432],
    ['postgresql://me:pw@%2frun%2fpostgresql:6000/prices', '/run/postgresql', 6000],
    ['postgres:///prices?host=/run/postgresql&user=me&password=pw', '/run/postgresql', 5432],
    ['postgres:///?host=db.example&port=6000&user=me&password=pw&dbname=prices', 'db.example', 6000],
    ['postgres://other:no@wrong.example:1/no?host=::1&port=2&user=me&password=pw&dbname=prices', '::1', 2],
    ['postgres://me:pw@[::1]:6000/prices', '::1', 6000],
    ['postgres://me:pw@db.example:/prices', 'db.example', 5432],
  ])('%s - has host %s and port %i', (text, host, port) => {
    const address = parseServer(text)
    expect(address).toMatchObject({
      host,
      port,
      user: 'me',
      database: 'prices',
      label: `${host}:${port}/prices`,
    })
    expect(address.password?.reveal()).toBe('pw')
  })

  test('password as parameter - keeps "+", as with libpq', () => {
    expect(parseServer('postgres://me@db.example/prices?password=a+b%20%2B').password?.reveal()).toBe('a+b +')
  })

  test.each([
    ['', 'disable'],
    ['ssl=false', 'disable'],
    ['ssl=0', 'disable'],
    ['ssl=true', 'require'],
    ['ssl=1', 'require'],
    ['ssl=no-verify', 'require'],
    ['ssl=true&sslmode=verify-full', 'verify-full'],
    ['sslmode=no-verify', 'require'],
    ['sslmode=no-verify&sslrootcert=/ca.pem', 'require'],
    ['sslmode=require&sslrootcert=/ca.pem', 'verify-ca'],
    ['sslmode=disable&sslrootcert=/ca.pem', 'disable'],
    ['sslrootcert=system', 'verify-full'],
    ['sslmode=verify-full&sslrootcert=system', 'verify-full'],
    ['host=/run/postgresql&sslmode=verify-full', 'disable'],
  ])('parameters "%s" - mean %s', (parameters, tls) => {
    expect(parseServer(`postgres://me@db.example/prices?${parameters}`).tls).toBe(tls)
  })

  test.each([
    ['connect_timeout=10', { connectTimeoutMs: 10_000 }],
    ['connect_timeout=1', { connectTimeoutMs: 2_000 }],
    ['connect_timeout=0', { connectTimeoutMs: 60_000 }],
    ['connect_timeout=300', { connectTimeoutMs: 60_000 }],
    ['channel_binding=prefer', { channelBinding: 'prefer' }],
    ['sslmode=require&channel_binding=require', { channelBinding: 'require' }],
    ['sslmode=require&sslnegotiation=direct', { tlsNegotiation: 'direct' }],
    ['sslnegotiation=postgres', { tlsNegotiation: 'postgres' }],
    ['sslrootcert=system', { tlsRootFile: null }],
    ['sslmode=require&sslcert=/c.pem&sslkey=/k.pem', { tlsCertificateFile: '/c.pem', tlsKeyFile: '/k.pem' }],
    ['options=-c%20work_mem%3D8MB', { options: '-c work_mem=8MB' }],
    ['options=endpoint%3Dep-cool-1', { options: 'endpoint=ep-cool-1' }],
    ['application_name=My%20shop', { applicationName: 'My shop' }],
    ['application_name=a@b', { applicationName: 'a@b' }],
    ['fallback_application_name=shop', { applicationName: 'shop' }],
    ['fallback_application_name=shop&application_name=own', { applicationName: 'own' }],
    ['keepalives=0', { isKeptAlive: false }],
    ['keepalives=1&keepalives_idle=30', { isKeptAlive: true, keepAliveIdleMs: 30_000 }],
    ['gssencmode=prefer&target_session_attrs=read-write&client_encoding=utf8&uselibpqcompat=true', {}],
  ])('parameters "%s" - are %o', (parameters, expected) => {
    expect(parseServer(`postgres://me@db.example/prices?${parameters}`)).toMatchObject(expected)
  })

  test.each([
    'postgresql://user:p@ep-1.eu-central-1.aws.neon.tech/neondb?sslmode=require&channel_binding=require',
    'postgresql://postgres.abc:p@aws-0-eu-central-1.pooler.supabase.com:5432/postgres',
    'postgres://u:p@ec2-1.compute-1.amazonaws.com:5432/d1?sslmode=no-verify',
    'postgresql://doadmin:p@db-1.db.ondigitalocean.com:25060/defaultdb?sslmode=require',
    'postgres://avnadmin:p@pg-1.aivencloud.com:12345/defaultdb?sslmode=require',
    'postgresql://admin%40server:p@server.postgres.database.azure.com:5432/shop?sslmode=require',
    'postgresql://admin@server:p@server.postgres.database.azure.com/shop?sslmode=require',
    'postgres://u:p@localhost/shop?host=/cloudsql/shop:europe-west1:db',
  ])('%s - is accepted as a provider prints it', (text) => {
    expect(parseServer(text)).toMatchObject({ kind: 'postgres' })
  })

  const AT = 'postgres://me@db.example/prices'

  test.each([
    ['postgres://db.example/prices', 'the user is missing'],
    ['postgres://me@db.example', 'the database is missing'],
    ['postgres://me@db.example/', 'the database is missing'],
    ['postgres://me@/prices', 'the host is missing; for a Unix socket'],
    ['postgres:prices', 'the host is missing'],
    ['postgres://me@db.example/a/b', 'the database name contains "/"'],
    ['postgres://me:pw@/run/postgresql/prices', 'the host is missing; for a Unix socket'],
    [`${AT}#x`, '"#" must be percent-encoded'],
    ['postgres://me@one.example,two.example:5433/prices', 'several hosts are not supported'],
    ['postgres://me@one.example:1,two.example:2/prices', 'several hosts are not supported'],
    [`${AT}?host=one.example,two.example`, 'host has an invalid value: name one host'],
    [`${AT}?port=5432,5433`, 'port has an invalid value'],
    [
      `${AT}?sslmode=prefer`,
      'sslmode has an invalid value: it is disable, require, verify-ca or verify-full',
    ],
    [`${AT}?sslmode=allow`, 'sslmode has an invalid value'],
    [`${AT}?sslmode=require&sslmode=disable`, 'sslmode is given twice'],
    [`${AT}?sslmode=require&ssl=false`, 'ssl and sslmode contradict each other'],
    [`${AT}?sslmode=disable&ssl=true`, 'ssl and sslmode contradict each other'],
    [`${AT}?ssl=maybe`, 'ssl has an invalid value'],
    [`${AT}?sslrootcert=/ca.pem`, 'sslrootcert needs sslmode'],
    [`${AT}?sslmode=require&sslrootcert=system`, 'sslrootcert=system needs sslmode=verify-full'],
    [`${AT}?sslmode=require&sslcert=/c.pem`, 'sslcert and sslkey belong together'],
    [`${AT}?sslcert=/c.pem&sslkey=/k.pem`, 'sslcert needs sslmode'],
    [`${AT}?sslnegotiation=direct`, 'sslnegotiation=direct needs sslmode'],
    [`${AT}?channel_binding=require`, 'channel_binding=require needs sslmode'],
    [`${AT}?host=/run&sslmode=require&channel_binding=require`, 'channel_binding=require is impossible'],
    [`${AT}?channel_binding=always`, 'channel_binding has an invalid value'],
    [`${AT}?gssencmode=require`, 'gssencmode has an invalid value: the driver cannot'],
    [`${AT}?target_session_attrs=standby`, 'target_session_attrs has an invalid value: Vitrine writes'],
    [`${AT}?client_encoding=latin1`, 'client_encoding has an invalid value: it is always UTF8'],
    [`${AT}?connect_timeout=10s`, 'connect_timeout has an invalid value'],
    [`${AT}?connect_timeout=1&connect_timeout_ms=1`, 'connect_timeout and connect_timeout_ms are both given'],
    [`${AT}?keepalives_count=5`, 'keepalives_count is not supported: Node.js cannot set it'],
    [`${AT}?passfile=/home/me/pass`, 'passfile is not supported: write the password into the address'],
    [`${AT}?hostaddr=10.1.2.3`, 'hostaddr is not supported'],
    [`${AT}?schema=public`, 'schema is not supported: the schemas are vitrine_copy and vitrine_catalog'],
    [`${AT}?pgbouncer=true&connection_limit=1`, 'pgbouncer is not supported: remove it; a pooler'],
    [`${AT}?connection_limit=5`, 'connection_limit is not supported: use pool_size'],
    [`${AT}?poolsize=3`, 'unknown parameter poolsize after "?"'],
    [`${AT}?constructor=3`, 'unknown parameter constructor after "?"'],
    [`${AT}?a%40b=3`, 'unknown parameter after "?"'],
    [`${AT}?password=half&other`, 'unknown parameter after "?"'],
    [`${AT}?pool_size=1`, 'pool_size has an invalid value'],
    [`${AT}?pool_size=ten`, 'pool_size has an invalid value'],
    [`${AT}?statement_timeout_ms=0`, 'statement_timeout_ms has an invalid value'],
    [`${AT}?application_name=%C3%A4`, 'application_name has an invalid value'],
    ['postgres://me:%@db.example/prices', '"%" in user, password or database must be written as %25'],
    ['postgres://me@db.example:99999/prices', 'host or port is invalid'],
    ['postgres://me@db.example:0/prices', 'host or port is invalid'],
    ['postgres://me@db example/prices', 'host or port is invalid'],
    ['postgres://me:a/b@db.example/prices', 'host or port is invalid'],
    ['postgres://me:12/b@db.example/prices', '"@" is in the wrong place'],
    ['postgres://me:12?b@db.example/prices', '"@" is in the wrong place'],
  ])('%s - is rejected with the reason', (text, reason) => {
    expect(databaseAddressParser.parse(text)).toBeUndefined()
    expect(() => parseConfig({ VITRINE_DATABASE_URL: text })).toThrow(`URL: ${reason}`)
  })

  test('password with characters of a URL - is in no message', () => {
    for (const character of '/?#@:%&=[]\\+, ') {
      for (const secret of [`xq${character}zj`, `1${character}zj`, `xq${character}zj&zj`]) {
        for (const text of [
          `postgres://me:${secret}@db.example/prices?wrong=${secret}`,
          `postgres://me:${secret}@db.example/prices?sslmode=${secret}`,
          `postgres://me@db.example/prices?password=${secret}&sslmode=${secret}`,
        ]) {
          expect(databaseAddressParser.parse(text)).toBeUndefined()
          expect(databaseAddressParser.explainError?.(text)).not.toMatch(/xq|zj/)
        }
      }
    }
  })

  test('value of each parameter that is refused - is in no message', () => {
    const names = ['host', 'port', 'user', 'dbname', 'sslmode', 'ssl', 'sslrootcert', 'sslcert', 'options']
    names.push('sslnegotiation', 'channel_binding', 'connect_timeout', 'keepalives', 'hostaddr', 'other')
    for (const name of names)
      for (const text of [`${AT}?${name}=zj zj,/`, `${AT}?${name}=zj&${name}=zj`])
        expect(databaseAddressParser.explainError?.(text) ?? '').not.toContain('zj')
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

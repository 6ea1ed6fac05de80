import { readFileSync } from 'node:fs'
import { type PeerCertificate, checkServerIdentity } from 'node:tls'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import {
  Client,
  type ClientConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  types,
} from 'pg'
import { SECOND_MS, systemClock } from '../clock.ts'
import type { PostgresAddress } from '../config/database-address.ts'
import { StoreError } from '../errors.ts'
import { failAfter } from '../lib/with-timeout.ts'
import { toPostgresFailure } from './failures.ts'

const REFUSAL =
  'the server does not bind the login to the TLS connection, which channel_binding=require demands; a pooler or proxy may be in front of it'

/**
 * A client that connects only if the server proves, bound to this TLS connection, that it knows the password. The driver uses
 * channel binding if it is offered, but would also accept any other way to log in.
 */
export class BoundClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    const { connection } = this
    let isOffered = false
    let isProven = false
    const refuse = (): void => {
      // The rest of the data that arrived must not report success.
      connection.removeAllListeners('readyForQuery')
      connection.stream.destroy(new Error(REFUSAL))
    }
    // These listeners run before those of the driver, which cannot send a password to a destroyed stream.
    connection.on('authenticationCleartextPassword', refuse)
    connection.on('authenticationMD5Password', refuse)
    connection.on('authenticationSASL', ({ mechanisms }: Readonly<{ mechanisms: readonly string[] }>) => {
      isOffered = mechanisms.includes('SCRAM-SHA-256-PLUS')
      if (!isOffered) refuse()
    })
    connection.on('authenticationSASLFinal', () => (isProven = isOffered))
    connection.on('authenticationOk', () => {
      if (!isProven) refuse()
    })
  }
}

export type PostgresOptions = Readonly<{
  address: PostgresAddress
  /** The stored copy and the catalog service can share a database, each with its own schema. */
  schema: string
  size: number
  /** The server cancels a statement after this time; if it does not, the connection is closed. */
  statementTimeoutMs: number
  /** Longest idle time between two statements of a transaction: its process may have crashed. */
  idleTransactionMs?: number | undefined
}>

/** An open pool of connections. Nothing is connected before the first statement. */
export type OpenPostgres<T> = Readonly<{ database: Kysely<T>; close(): Promise<void> }>

/** Wait this much longer than the statement timeout before closing the connection to a silent server. */
const SILENCE_GRACE_MS = 500

const IDLE_TRANSACTION_MS: number = 10 * SECOND_MS

/** Prepared statements per connection; further texts are parsed each time. */
const MAX_PREPARED = 200

/** Types parsed as numbers: bigint (20) and numeric (1700), the type of its sums. All our values are below 2^53. */
const NUMBER_TYPES: ReadonlySet<number> = new Set([20, 1700])

/** Open a pool. @throws StoreError when a file with certificates or a key cannot be read. */
export function openPostgres<T>(options: PostgresOptions): OpenPostgres<T> {
  const pool = createPool(options)
  const database = new Kysely<T>({ dialect: new PostgresDialect({ pool: toKyselyPool(pool, options) }) })
  return {
    database,
    async close() {
      await database.destroy()
      await pool.end().catch(() => {})
    },
  }
}

/** Open a single connection that has no settings yet. Close it with `closeClient`. */
export async function connectClient(address: PostgresAddress): Promise<Client> {
  const client = new (getClientClass(address))(toClientConfig(address))
  // Without a listener a lost connection would crash the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    throw toPostgresFailure(error, address.label)
  }
}

/** Close a connection. A silent server cannot delay this for long. */
export async function closeClient(client: Client): Promise<void> {
  await failOnSilence(client.end(), SILENCE_GRACE_MS).catch(() => client.connection.stream.destroy())
}

function createPool({ address, size }: PostgresOptions): Pool {
  const pool = new Pool({
    ...toClientConfig(address),
    max: size,
    allowExitOnIdle: true,
    Client: getClientClass(address),
  })
  // Without listeners a lost connection would crash the process. The pool replaces idle connections; a running statement fails.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

function getClientClass({ channelBinding }: PostgresAddress): typeof Client {
  return channelBinding === 'require' ? BoundClient : Client
}

function toClientConfig(address: PostgresAddress): ClientConfig {
  return {
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    ...(address.password !== null && { password: address.password.reveal() }),
    ssl: toTls(address),
    sslnegotiation: address.tlsNegotiation,
    enableChannelBinding: address.channelBinding !== 'disable',
    connectionTimeoutMillis: address.connectTimeoutMs,
    application_name: address.applicationName,
    ...(address.options !== null && { options: address.options }),
    keepAlive: address.isKeptAlive,
    keepAliveInitialDelayMillis: address.keepAliveIdleMs,
    types: { getTypeParser },
  }
}

function getTypeParser(type: number, format?: 'text' | 'binary'): (value: string) => unknown {
  return NUMBER_TYPES.has(type) ? Number : types.getTypeParser(type, format)
}

function toTls(address: PostgresAddress): ClientConfig['ssl'] {
  const { tls, host } = address
  if (tls === 'disable') return false
  return {
    ...readFileAs('ca', 'sslrootcert', address.tlsRootFile),
    ...readFileAs('cert', 'sslcert', address.tlsCertificateFile),
    ...readFileAs('key', 'sslkey', address.tlsKeyFile),
    rejectUnauthorized: tls !== 'require',
    // `verify-ca` does not check the host name.
    ...(tls === 'verify-ca' && { checkServerIdentity: () => undefined }),
    // When the host is an IP address, Node would compare the certificate with a different name.
    ...(tls === 'verify-full' && {
      checkServerIdentity: (_name: string, certificate: PeerCertificate) =>
        checkServerIdentity(host, certificate),
    }),
  }
}

function readFileAs(
  option: 'ca' | 'cert' | 'key',
  parameter: string,
  path: string | null,
): Readonly<Record<string, string>> {
  if (path === null) return {}
  try {
    // The file may have comments in any encoding. A byte order mark would hide its first line.
    return { [option]: readFileSync(path, 'latin1').replace(/^\u00ef\u00bb\u00bf/, '') }
  } catch (error) {
    const remedy = `Let the server's user read that file, or correct ${parameter}.`
    throw new StoreError(`Cannot read the file that ${parameter} names`, { cause: error, remedy })
  }
}

function toKyselyPool(pool: Pool, options: PostgresOptions): PostgresPool {
  const checkOuts = new WeakMap<PoolClient, CheckOutClient>()
  return {
    async connect() {
      const client = await pool.connect().catch((error: unknown) => {
        // The server is available, so this message must not match the connection errors in failures.ts.
        const isPoolFull = pool.totalCount >= options.size && pool.idleCount === 0
        const poolFullError = new Error(
          `the pool is full: ${options.size} statements at once, and one more waited too long`,
        )
        throw toPostgresFailure(isPoolFull ? poolFullError : error, options.address.label)
      })
      const checkOut = checkOuts.get(client) ?? createClientCheckOut(client, options)
      checkOuts.set(client, checkOut)
      return checkOut()
    },
    end: () => pool.end(),
  }
}

type CheckOutClient = () => Promise<PostgresPoolClient>

const NO_RESULT: QueryResult = { command: '', rowCount: 0, oid: 0, fields: [], rows: [] }

/** 0A000: the tables of a prepared statement changed. 25006: the server became read-only, so another one may be the primary. */
const STALE_CODES: ReadonlySet<string> = new Set(['0A000', '25006'])

/** Wrap a connection: prepare repeated statements, and close the connection when the server does not respond. */
function createClientCheckOut(client: PoolClient, options: PostgresOptions): CheckOutClient {
  const prepareQuery = createQueryPreparer()
  let isReady = false
  let isBroken = false
  client.on('error', () => {
    isBroken = true
  })
  const query = async (text: string, values: readonly unknown[]): Promise<QueryResult> => {
    // Closing the connection ends the transaction, so Kysely's rollback must not wait for a silent server again.
    if (isBroken && text === 'rollback') return NO_RESULT
    try {
      if (isBroken) throw new Error('the connection is broken')
      return await failOnSilence(
        client.query(prepareQuery(text, values)),
        options.statementTimeoutMs + SILENCE_GRACE_MS,
      )
    } catch (error) {
      // A server error leaves the connection usable; after any other error its state is unknown.
      if (!(error instanceof DatabaseError) || STALE_CODES.has(error.code ?? '')) isBroken = true
      throw toPostgresFailure(error, options.address.label)
    }
  }
  const preparedClient = { query, release: () => client.release(isBroken) } as unknown as PostgresPoolClient
  return async () => {
    if (isReady) return preparedClient
    try {
      await query(createSettingsStatement(options), [])
    } catch (error) {
      client.release(true)
      throw error
    }
    isReady = true
    return preparedClient
  }
}

/** A statement, because some poolers reject these settings as connection parameters. */
function createSettingsStatement(options: PostgresOptions): string {
  const idleMs = options.idleTransactionMs ?? IDLE_TRANSACTION_MS
  return `set search_path = ${options.schema}; set statement_timeout = ${options.statementTimeoutMs};
    set idle_in_transaction_session_timeout = ${idleMs}`
}

/** Prepare a statement from its second execution on. */
function createQueryPreparer(): (text: string, values: readonly unknown[]) => QueryConfig {
  const names = new Map<string, string>()
  return (text, values) => {
    const query = { text, values: [...values] }
    if (values.length === 0) return query
    const name = names.get(text)
    if (name !== undefined) return { ...query, name }
    if (names.size < MAX_PREPARED) names.set(text, `vitrine_${names.size}`)
    return query
  }
}

/** @throws Error when `work` takes longer than `timeoutMs`; the work is not cancelled. */
export function failOnSilence<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  work.catch(() => {})
  const createError = (): Error => new Error(`the database did not respond for ${timeoutMs} ms`)
  return failAfter({ clock: systemClock, timeoutMs }, createError, work)
}

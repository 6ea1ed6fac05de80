import { readFileSync } from 'node:fs'
import { type PeerCertificate, checkServerIdentity } from 'node:tls'
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import {
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
  types,
} from 'pg'
import { SECOND_MS } from '../clock.ts'
import type { PostgresAddress } from '../config/database-address.ts'
import { StoreError } from '../errors.ts'
import { toPostgresFailure } from './postgres-failure.ts'

export type PostgresOptions = Readonly<{
  address: PostgresAddress
  /** Where the tables are: the stored copy and the catalog service may share a database. */
  schema: string
  size: number
  /** The server ends a statement then; if it does not, the connection is cut. */
  statementTimeoutMs: number
  /** How long a transaction may rest between two statements: its process may be gone. */
  idleTransactionMs?: number | undefined
}>

/** An open pool of connections. Nothing is connected before the first statement. */
export type OpenPostgres<T> = Readonly<{ database: Kysely<T>; close(): Promise<void> }>

/** How much longer than its own limit a server that sends nothing is waited for. */
const SILENCE_GRACE_MS = 500

const IDLE_TRANSACTION_MS: number = 10 * SECOND_MS

/** Statements of a connection that the server keeps ready; the code has fewer. */
const MAX_PREPARED = 200

/** Types that arrive as text and are numbers here: bigint, and sums of it. All of ours are below 2^53. */
const NUMBER_TYPES: ReadonlySet<number> = new Set([20, 1700])

/** Open a pool. @throws StoreError when the file with certificates cannot be read. */
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

function createPool({ address, size }: PostgresOptions): Pool {
  const pool = new Pool({
    host: address.host,
    port: address.port,
    database: address.database,
    user: address.user,
    ...(address.password !== null && { password: address.password.reveal() }),
    ssl: toTls(address),
    max: size,
    connectionTimeoutMillis: address.connectTimeoutMs,
    application_name: address.applicationName,
    keepAlive: true,
    allowExitOnIdle: true,
    types: { getTypeParser },
  })
  // Without listeners the process would end with its server. Idle connections are replaced; a statement under way fails.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

function getTypeParser(type: number, format?: 'text' | 'binary'): (value: string) => unknown {
  return NUMBER_TYPES.has(type) ? Number : types.getTypeParser(type, format)
}

function toTls({ tls, tlsRootFile, host }: PostgresAddress): PoolConfig['ssl'] {
  if (tls === 'disable') return false
  const ca = tlsRootFile === null ? undefined : readCertificates(tlsRootFile)
  return {
    ...(ca !== undefined && { ca }),
    rejectUnauthorized: tls !== 'require',
    // `verify-ca` believes the certificate whatever name it is for.
    ...(tls === 'verify-ca' && { checkServerIdentity: () => undefined }),
    // Without a name Node would compare with another one than was asked for, where that is an address.
    ...(tls === 'verify-full' && {
      checkServerIdentity: (_name: string, certificate: PeerCertificate) =>
        checkServerIdentity(host, certificate),
    }),
  }
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StoreError(`the certificates of sslrootcert cannot be read`, { cause: error })
  }
}

function toKyselyPool(pool: Pool, options: PostgresOptions): PostgresPool {
  const checkOuts = new WeakMap<PoolClient, CheckOutClient>()
  return {
    async connect() {
      const client = await pool.connect().catch((error: unknown) => {
        // The server is there, and this process has more statements than its connections carry.
        const isPoolFull = pool.totalCount >= options.size && pool.idleCount === 0
        const poolFullError = new Error(`${options.size} statements at once, and too many behind them`)
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

/** The tables of a prepared statement have changed; or the server became read-only, and another one takes writes. */
const STALE_CODES: ReadonlySet<string> = new Set(['0A000', '25006'])

/** A connection that prepares repeated statements, and that is cut when its server sends nothing. */
function createClientCheckOut(client: PoolClient, options: PostgresOptions): CheckOutClient {
  const prepareQuery = createQueryPreparer()
  let isReady = false
  let isBroken = false
  client.on('error', () => {
    isBroken = true
  })
  const query = async (text: string, values: readonly unknown[]): Promise<QueryResult> => {
    // The transaction ends with the connection: Kysely's rollback must not wait for a silent server once more.
    if (isBroken && text === 'rollback') return NO_RESULT
    try {
      if (isBroken) throw new Error('the connection was given up')
      return await withTimeout(
        client.query(prepareQuery(text, values)),
        options.statementTimeoutMs + SILENCE_GRACE_MS,
      )
    } catch (error) {
      // An error from the server leaves the connection usable; after any other its state is unknown.
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

/** Settings as a statement, not as connection parameters, which not every pooler accepts. */
function createSettingsStatement(options: PostgresOptions): string {
  const idleMs = options.idleTransactionMs ?? IDLE_TRANSACTION_MS
  return `set search_path = ${options.schema}; set statement_timeout = ${options.statementTimeoutMs};
    set idle_in_transaction_session_timeout = ${idleMs}`
}

/** Prepare a statement when it comes for the second time, and find it again by its name. */
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

/** @throws Error when `work` takes longer; it is left to itself then. */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`the database said nothing for ${timeoutMs} ms`)), timeoutMs)
  })
  work.catch(() => {})
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

import { StoreError } from '../errors.ts'
import { parseUrl } from '../lib/urls.ts'
import { type ValueParser, oneOf, wholeNumber } from './parsers.ts'
import { Secret } from './secrets.ts'

export type SqliteAddress = Readonly<{ kind: 'sqlite'; path: string }>

/** `sslmode` values of PostgreSQL. `verify-full` also checks the server name. */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
type TlsMode = (typeof TLS_MODES)[number]

export type PostgresAddress = Readonly<{
  kind: 'postgres'
  /** The complete setting. It contains the password and is passed to worker threads. */
  text: Secret
  /** Host, port and database: safe to log and show. */
  label: string
  /** Host name, IP address, or folder of a Unix socket. */
  host: string
  port: number
  database: string
  user: string
  password: Secret | null
  tls: TlsMode
  /** File with the accepted root certificates; `null`: those of Node. */
  tlsRootFile: string | null
  /** Connections of one process, at least 2: some for reads, the others for writes. */
  poolSize: number
  connectTimeoutMs: number
  /** Time limit of a read for a visitor. Writes get twice as long, and statements of a walk two minutes. */
  statementTimeoutMs: number
  applicationName: string
}>

/** A local file, or a server that several machines can share. */
export type DatabaseAddress = SqliteAddress | PostgresAddress

const DEFAULT_PORT = 5432
const MAX_POOL_SIZE = 1_000
const MAX_TIMEOUT_MS = 60_000

export const databaseAddressParser: ValueParser<DatabaseAddress> = {
  expects:
    'sqlite:PATH of a file, for example sqlite:data/vitrine.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE with user and password percent-encoded (after "?": sslmode=disable, require, verify-ca or verify-full; sslrootcert; pool_size from 2; connect_timeout_ms; statement_timeout_ms; application_name; host)',
  parse(text) {
    const parsed = parsePostgresAddress(text)
    if (parsed !== undefined) return typeof parsed === 'string' ? undefined : parsed
    const path = /^sqlite:(?:\/\/)?(.+)$/.exec(text)?.[1]
    // An in-memory database would be a separate one in each thread and process.
    return path === undefined || path === ':memory:' ? undefined : { kind: 'sqlite', path }
  },
  explainError(text) {
    const parsed = parsePostgresAddress(text)
    return typeof parsed === 'string' ? parsed : undefined
  },
}

/** Return the address as text for another thread of this process. It contains the password. */
export function serializeDatabaseAddress(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.text.reveal()
}

/** Parse the result of `serializeDatabaseAddress`. @throws StoreError when it is invalid. */
export function parseSerializedAddress(text: string): DatabaseAddress {
  const address = databaseAddressParser.parse(text)
  if (address === undefined) throw new StoreError('the database address for a thread is invalid')
  return address
}

/** Return a description that is safe to show: a file path, or a server without user and password. */
export function describeDatabase(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? address.path : address.label
}

/** Return the parsed address or its problem; `undefined` for another kind of address. */
function parsePostgresAddress(text: string): PostgresAddress | string | undefined {
  if (!/^postgres(?:ql)?:/i.test(text)) return undefined
  const url = parseUrl(text)
  if (url === undefined)
    return 'host or port is invalid; "/", "?", "@" and "#" in a password must be percent-encoded'
  if (url.hash !== '') return '"#" must be percent-encoded'
  const parameters = url.searchParams
  const parts = decodeAll([url.pathname.slice(1), url.username, url.password])
  const host = parameters.get('host') ?? url.hostname.replace(/^\[|\]$/g, '')
  const problem = findParameterProblem(parameters) ?? findPartProblem(parts, host)
  if (problem !== undefined) return problem
  const [database, user, password] = parts as readonly [string, string, string]
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  return {
    kind: 'postgres',
    text: new Secret(text),
    label: `${host}:${port}/${database}`,
    host,
    port,
    database,
    user,
    password: password === '' ? null : new Secret(password),
    ...parseConnectionOptions(parameters),
  }
}

function parseConnectionOptions(parameters: URLSearchParams) {
  return {
    tls: (parameters.get('sslmode') ?? 'disable') as TlsMode,
    tlsRootFile: parameters.get('sslrootcert'),
    poolSize: Number(parameters.get('pool_size') ?? 10),
    connectTimeoutMs: Number(parameters.get('connect_timeout_ms') ?? 2_000),
    statementTimeoutMs: Number(parameters.get('statement_timeout_ms') ?? 1_000),
    applicationName: parameters.get('application_name') ?? 'vitrine',
  }
}

/** Percent-decode each text. Return an empty list if one is invalid. */
function decodeAll(texts: readonly string[]): readonly string[] {
  try {
    return texts.map(decodeURIComponent)
  } catch {
    return []
  }
}

function findPartProblem([database, user]: readonly string[], host: string): string | undefined {
  if (database === undefined) return '"%" in user, password or database must be written as %25'
  const missingPart = Object.entries({ host, user, database }).find(([, part]) => part === '')?.[0]
  if (missingPart !== undefined) return `the ${missingPart} is missing`
  return database.includes('/') ? 'the database name contains "/"' : undefined
}

/** Validators of the parameters after "?". */
const PARAMETER_CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  sslmode: toCheck(oneOf(TLS_MODES)),
  sslrootcert: (text) => text !== '',
  pool_size: toCheck(wholeNumber(2, MAX_POOL_SIZE)),
  connect_timeout_ms: toCheck(wholeNumber(1, MAX_TIMEOUT_MS)),
  statement_timeout_ms: toCheck(wholeNumber(1, MAX_TIMEOUT_MS)),
  application_name: (text) => /^[\x21-\x7e]{1,63}$/.test(text),
  host: (text) => text.startsWith('/'),
}

function toCheck({ parse }: ValueParser<unknown>): (text: string) => boolean {
  return (text) => parse(text) !== undefined
}

function findParameterProblem(parameters: URLSearchParams): string | undefined {
  for (const [name, text] of parameters) {
    if (!Object.hasOwn(PARAMETER_CHECKS, name)) return 'unknown parameter after "?"'
    if (parameters.getAll(name).length > 1) return `${name} is given twice`
    if (PARAMETER_CHECKS[name]?.(text) !== true) return `${name} has an invalid value`
  }
  return undefined
}

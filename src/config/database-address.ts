import { StoreError } from '../errors.ts'
import { parseUrl } from '../lib/urls.ts'
import { type ValueParser, oneOf, wholeNumber } from './parsers.ts'
import { Secret } from './secrets.ts'

export type SqliteAddress = Readonly<{ kind: 'sqlite'; path: string }>

/** How the connection is protected, in the words of PostgreSQL's own clients; `verify-full` also checks the server's name. */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
type TlsMode = (typeof TLS_MODES)[number]

/** A server that speaks PostgreSQL's protocol. */
export type PostgresAddress = Readonly<{
  kind: 'postgres'
  /** The whole text as it was given: it holds the password, and goes to another thread. */
  text: Secret
  /** Host, port and database: what may be told to anybody. */
  label: string
  /** A name, an address, or the folder of a socket. */
  host: string
  port: number
  database: string
  user: string
  password: Secret | null
  tls: TlsMode
  /** File with the certificates that the server's is checked against; `null`: those that Node knows. */
  tlsRootFile: string | null
  /** Connections of a process, 2 at least: a part of them for reading, the rest for writing. */
  poolSize: number
  connectTimeoutMs: number
  /** The longest statement that a visitor waits for. Writing may take five times as long, the statements of a walk two minutes. */
  statementTimeoutMs: number
  applicationName: string
}>

/** Where data are kept: a file of this machine, or a server that several machines share. */
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
    // In memory, the walk's thread and other processes would each have a database of their own.
    return path === undefined || path === ':memory:' ? undefined : { kind: 'sqlite', path }
  },
  explainError(text) {
    const parsed = parsePostgresAddress(text)
    return typeof parsed === 'string' ? parsed : undefined
  },
}

/** An address as a text that travels to another thread of this process; with its password, so nowhere else. */
export function serializeDatabaseAddress(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.text.reveal()
}

/** The address of such a text. @throws StoreError when the text is not an address. */
export function parseSerializedAddress(text: string): DatabaseAddress {
  const address = databaseAddressParser.parse(text)
  if (address === undefined) throw new StoreError('the address of a database was lost on its way to a thread')
  return address
}

/** What may be told to anybody: a file, or a server without user and password. */
export function describeDatabase(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? address.path : address.label
}

/** Return the address of a server, or what is wrong with it; `undefined` for another kind of address. */
function parsePostgresAddress(text: string): PostgresAddress | string | undefined {
  if (!/^postgres(?:ql)?:/i.test(text)) return undefined
  const url = parseUrl(text)
  if (url === undefined)
    return 'host or port cannot be read; is "/", "?", "@" or "#" in a password percent-encoded?'
  if (url.hash !== '') return '"#" has to be percent-encoded'
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

/** Decode the percent signs of each; none where one cannot be decoded. */
function decodeAll(texts: readonly string[]): readonly string[] {
  try {
    return texts.map(decodeURIComponent)
  } catch {
    return []
  }
}

function findPartProblem([database, user]: readonly string[], host: string): string | undefined {
  if (database === undefined) return '"%" in user, password or database has to be written %25'
  const missingPart = Object.entries({ host, user, database }).find(([, part]) => part === '')?.[0]
  if (missingPart !== undefined) return `the ${missingPart} is missing`
  return database.includes('/') ? 'the database has a "/" in its name' : undefined
}

/** Can a parameter be that? */
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
    if (!Object.hasOwn(PARAMETER_CHECKS, name)) return 'there is an unknown parameter after "?"'
    if (parameters.getAll(name).length > 1) return `${name} is given twice`
    if (PARAMETER_CHECKS[name]?.(text) !== true) return `${name} cannot be that`
  }
  return undefined
}

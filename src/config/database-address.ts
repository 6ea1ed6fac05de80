import { StoreError } from '../errors.ts'
import { parseUrl } from '../lib/urls.ts'
import { type Reader, oneOf, wholeNumber } from './readers.ts'
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

export const databaseAddress: Reader<DatabaseAddress> = {
  expects:
    'sqlite:PATH of a file, for example sqlite:data/vitrine.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE with user and password percent-encoded (after "?": sslmode=disable, require, verify-ca or verify-full; sslrootcert; pool_size from 2; connect_timeout_ms; statement_timeout_ms; application_name; host)',
  read(text) {
    const server = readServer(text)
    if (server !== undefined) return typeof server === 'string' ? undefined : server
    const path = /^sqlite:(?:\/\/)?(.+)$/.exec(text)?.[1]
    // In memory, the walk's thread and other processes would each have a database of their own.
    return path === undefined || path === ':memory:' ? undefined : { kind: 'sqlite', path }
  },
  explain(text) {
    const server = readServer(text)
    return typeof server === 'string' ? server : undefined
  },
}

/** An address as a text that travels to another thread of this process; with its password, so nowhere else. */
export function toDatabaseText(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.text.reveal()
}

/** The address of such a text. @throws StoreError when the text is not an address. */
export function parseDatabaseText(text: string): DatabaseAddress {
  const address = databaseAddress.read(text)
  if (address === undefined) throw new StoreError('the address of a database was lost on its way to a thread')
  return address
}

/** What may be told to anybody: a file, or a server without user and password. */
export function labelDatabase(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? address.path : address.label
}

/** Return the address of a server, or what is wrong with it; `undefined` for another kind of address. */
function readServer(text: string): PostgresAddress | string | undefined {
  if (!/^postgres(?:ql)?:/i.test(text)) return undefined
  const url = parseUrl(text)
  if (url === undefined)
    return 'host or port cannot be read; is "/", "?", "@" or "#" in a password percent-encoded?'
  if (url.hash !== '') return '"#" has to be percent-encoded'
  const parameters = url.searchParams
  const parts = decodeAll([url.pathname.slice(1), url.username, url.password])
  const host = parameters.get('host') ?? url.hostname.replace(/^\[|\]$/g, '')
  const fault = findParameterFault(parameters) ?? findPartFault(parts, host)
  if (fault !== undefined) return fault
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
    ...readOptions(parameters),
  }
}

function readOptions(parameters: URLSearchParams) {
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

function findPartFault([database, user]: readonly string[], host: string): string | undefined {
  if (database === undefined) return '"%" in user, password or database has to be written %25'
  const missing = Object.entries({ host, user, database }).find(([, part]) => part === '')?.[0]
  if (missing !== undefined) return `the ${missing} is missing`
  return database.includes('/') ? 'the database has a "/" in its name' : undefined
}

/** Can a parameter be that? */
const PARAMETERS: Readonly<Record<string, (text: string) => boolean>> = {
  sslmode: accepts(oneOf(TLS_MODES)),
  sslrootcert: (text) => text !== '',
  pool_size: accepts(wholeNumber(2, MAX_POOL_SIZE)),
  connect_timeout_ms: accepts(wholeNumber(1, MAX_TIMEOUT_MS)),
  statement_timeout_ms: accepts(wholeNumber(1, MAX_TIMEOUT_MS)),
  application_name: (text) => /^[\x21-\x7e]{1,63}$/.test(text),
  host: (text) => text.startsWith('/'),
}

function accepts({ read }: Reader<unknown>): (text: string) => boolean {
  return (text) => read(text) !== undefined
}

function findParameterFault(given: URLSearchParams): string | undefined {
  for (const [name, text] of given) {
    if (!Object.hasOwn(PARAMETERS, name)) return 'there is an unknown parameter after "?"'
    if (given.getAll(name).length > 1) return `${name} is given twice`
    if (PARAMETERS[name]?.(text) !== true) return `${name} cannot be that`
  }
  return undefined
}

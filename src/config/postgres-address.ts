import { parseUrl } from '../lib/urls.ts'
import { Secret } from './secrets.ts'

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

/** What an address looks like, for messages. */
export const POSTGRES_FORM =
  'postgres://USER:PASSWORD@HOST:PORT/DATABASE with user and password percent-encoded (after "?": sslmode=disable, require, verify-ca or verify-full; sslrootcert; pool_size from 2; connect_timeout_ms; statement_timeout_ms; application_name; host)'

const DEFAULT_PORT = 5432
const MAX_POOL_SIZE = 1_000
const MAX_TIMEOUT_MS = 60_000

const DEFAULTS = {
  tls: 'disable',
  tlsRootFile: null,
  poolSize: 10,
  connectTimeoutMs: 2_000,
  statementTimeoutMs: 1_000,
  applicationName: 'vitrine',
} as const

/** How each parameter reads its text; `undefined`: it cannot be that. */
const PARAMETERS = {
  sslmode: (text: string) => TLS_MODES.find((mode) => mode === text),
  sslrootcert: (text: string) => (text === '' ? undefined : text),
  pool_size: (text: string) => readNumber(text, 2, MAX_POOL_SIZE),
  connect_timeout_ms: (text: string) => readNumber(text, 1, MAX_TIMEOUT_MS),
  statement_timeout_ms: (text: string) => readNumber(text, 1, MAX_TIMEOUT_MS),
  application_name: (text: string) => (/^[\x21-\x7e]{1,63}$/.test(text) ? text : undefined),
  host: (text: string) => (text.startsWith('/') ? text : undefined),
} as const

type Parameters = { [Name in keyof typeof PARAMETERS]?: NonNullable<ReturnType<(typeof PARAMETERS)[Name]>> }

/** What is wrong with an address, in words that hold nothing of it. */
type Fault = Readonly<{ fault: string }>

const isFault = (read: object): read is Fault => 'fault' in read

/** Reads an address; `undefined` when it is none, or has a parameter that is unknown, wrong or given twice. */
export function parsePostgresAddress(text: string): PostgresAddress | undefined {
  const read = readAddress(text)
  return isFault(read) ? undefined : read
}

/** What is wrong with an address, for its owner; `undefined` for one that can be read. Nothing of its text is told: it may hold a password. */
export function explainPostgresAddress(text: string): string | undefined {
  const read = readAddress(text)
  return isFault(read) ? read.fault : undefined
}

function readAddress(text: string): PostgresAddress | Fault {
  const url = parseUrl(text)
  if (url === undefined)
    return { fault: 'host or port cannot be read; is "/", "?", "@" or "#" in a password percent-encoded?' }
  if (url.hash !== '') return { fault: '"#" has to be percent-encoded' }
  const parameters = readParameters(url.searchParams)
  if (isFault(parameters)) return parameters
  const place = readPlace(url, parameters.host)
  if (isFault(place)) return place
  return {
    ...DEFAULTS,
    ...place,
    kind: 'postgres',
    text: new Secret(text),
    label: `${place.host}:${place.port}/${place.database}`,
    ...toOptions(parameters),
  }
}

type Place = Pick<PostgresAddress, 'host' | 'port' | 'database' | 'user' | 'password'>

function readPlace(url: URL, socket: string | undefined): Place | Fault {
  const [database, user, password] = [url.pathname.slice(1), url.username, url.password].map(decode)
  const host = socket ?? url.hostname.replace(/^\[|\]$/g, '')
  if (database === undefined || user === undefined || password === undefined)
    return { fault: '"%" in user, password or database has to be written %25' }
  const missing = Object.entries({ host, user, database }).find(([, part]) => part === '')?.[0]
  if (missing !== undefined) return { fault: `the ${missing} is missing` }
  if (database.includes('/')) return { fault: 'the database has a "/" in its name' }
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  return { host, port, database, user, password: password === '' ? null : new Secret(password) }
}

/** What was given, under its name here. */
function toOptions(parameters: Parameters): Partial<PostgresAddress> {
  const named = {
    tls: parameters.sslmode,
    tlsRootFile: parameters.sslrootcert,
    poolSize: parameters.pool_size,
    connectTimeoutMs: parameters.connect_timeout_ms,
    statementTimeoutMs: parameters.statement_timeout_ms,
    applicationName: parameters.application_name,
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

function readParameters(given: URLSearchParams): Parameters | Fault {
  const read: Record<string, unknown> = {}
  for (const [name, text] of given) {
    if (!Object.hasOwn(PARAMETERS, name)) return { fault: 'there is an unknown parameter after "?"' }
    if (Object.hasOwn(read, name)) return { fault: `${name} is given twice` }
    read[name] = PARAMETERS[name as keyof typeof PARAMETERS](text)
    if (read[name] === undefined) return { fault: `${name} cannot be that` }
  }
  return read
}

function readNumber(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : NaN
  return value >= min && value <= max ? value : undefined
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

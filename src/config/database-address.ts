import { z } from 'zod'
import { StoreError } from '../errors.ts'
import { parseUrl } from '../lib/urls.ts'
import type { Reader } from './readers.ts'
import { Secret } from './secrets.ts'

/** A SQLite file. */
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

const POSTGRES_FORM =
  'postgres://USER:PASSWORD@HOST:PORT/DATABASE with user and password percent-encoded (after "?": sslmode=disable, require, verify-ca or verify-full; sslrootcert; pool_size from 2; connect_timeout_ms; statement_timeout_ms; application_name; host)'

const DEFAULT_PORT = 5432
const MAX_POOL_SIZE = 1_000
const MAX_TIMEOUT_MS = 60_000

/** Not a file: the walk's thread and other processes would each have a database of their own. */
const IN_MEMORY = ':memory:'

export const databaseAddress: Reader<DatabaseAddress> = {
  expects: `sqlite:PATH of a file, for example sqlite:data/vitrine.db, or ${POSTGRES_FORM}`,
  read(text) {
    const address = readAddress(text)
    return typeof address === 'string' ? undefined : address
  },
  explain(text) {
    const address = readAddress(text)
    return typeof address === 'string' ? address : undefined
  },
}

/** Return the address, what is wrong with that of a server, or `undefined` for anything else. */
function readAddress(text: string): DatabaseAddress | string | undefined {
  if (/^postgres(?:ql)?:/i.test(text)) return readServer(text)
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(text)?.[1]
  return path === undefined || path === IN_MEMORY ? undefined : { kind: 'sqlite', path }
}

/** An address as a text that travels to another thread of this process; with its password, so nowhere else. */
export function toDatabaseText(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.text.reveal()
}

/** The address of such a text. @throws StoreError when the text is not an address. */
export function parseDatabaseText(text: string): DatabaseAddress {
  if (text === `sqlite:${IN_MEMORY}`) return { kind: 'sqlite', path: IN_MEMORY }
  const address = databaseAddress.read(text)
  if (address === undefined) throw new StoreError('the address of a database was lost on its way to a thread')
  return address
}

/** What may be told to anybody: a file, or a server without user and password. */
export function labelDatabase(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? address.path : address.label
}

function readServer(text: string): PostgresAddress | string {
  const url = parseUrl(text)
  if (url === undefined)
    return 'host or port cannot be read; is "/", "?", "@" or "#" in a password percent-encoded?'
  if (url.hash !== '') return '"#" has to be percent-encoded'
  const options = readOptions(url.searchParams)
  if (typeof options === 'string') return options
  const parts = decodeAll([url.pathname.slice(1), url.username, url.password])
  if (parts === undefined) return '"%" in user, password or database has to be written %25'
  const [database, user, password] = parts
  const { host = url.hostname.replace(/^\[|\]$/g, '') } = options
  const fault = findFault({ host, user, database })
  if (fault !== undefined) return fault
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
    tls: options.sslmode,
    tlsRootFile: options.sslrootcert,
    poolSize: options.pool_size,
    connectTimeoutMs: options.connect_timeout_ms,
    statementTimeoutMs: options.statement_timeout_ms,
    applicationName: options.application_name,
  }
}

function findFault(parts: Readonly<{ host: string; user: string; database: string }>): string | undefined {
  const missing = Object.entries(parts).find(([, part]) => part === '')?.[0]
  if (missing !== undefined) return `the ${missing} is missing`
  return parts.database.includes('/') ? 'the database has a "/" in its name' : undefined
}

const numberText = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))

/** What may stand after "?". */
const OPTIONS = z.object({
  sslmode: z.enum(TLS_MODES).default('disable'),
  sslrootcert: z.string().min(1).nullable().default(null),
  pool_size: numberText(2, MAX_POOL_SIZE).default(10),
  connect_timeout_ms: numberText(1, MAX_TIMEOUT_MS).default(2_000),
  statement_timeout_ms: numberText(1, MAX_TIMEOUT_MS).default(1_000),
  application_name: z
    .string()
    .regex(/^[\x21-\x7e]{1,63}$/)
    .default('vitrine'),
  host: z.string().startsWith('/').optional(),
})

function readOptions(given: URLSearchParams): z.infer<typeof OPTIONS> | string {
  const names = [...given.keys()]
  if (names.some((name) => !Object.hasOwn(OPTIONS.shape, name)))
    return 'there is an unknown parameter after "?"'
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) return `${repeated} is given twice`
  const parsed = OPTIONS.safeParse(Object.fromEntries(given))
  return parsed.success ? parsed.data : `${String(parsed.error.issues[0]?.path[0])} cannot be that`
}

function decodeAll<Texts extends readonly string[]>(texts: [...Texts]): Texts | undefined {
  try {
    return texts.map((text) => decodeURIComponent(text)) as unknown as Texts
  } catch {
    return undefined
  }
}

import { StoreError } from '../errors.ts'
import { parseUrl } from '../lib/urls.ts'
import { type ValueParser, wholeNumber } from './parsers.ts'
import { type PostgresParameters, findParameterProblem, parseParameters } from './postgres-parameters.ts'
import { Secret } from './secrets.ts'

export type SqliteAddress = Readonly<{ kind: 'sqlite'; path: string }>

export type PostgresAddress = PostgresParameters &
  Readonly<{
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
  }>

/** A local file, or a server that several machines can share. */
export type DatabaseAddress = SqliteAddress | PostgresAddress

const DEFAULT_PORT = '5432'

export const databaseAddressParser: ValueParser<DatabaseAddress> = {
  expects:
    'sqlite:PATH of a file, for example sqlite:data/vitrine.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE with user and password percent-encoded (parameters after "?": docs/operate/configuration.md)',
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

const ENCODING_ADVICE = '"/", "?", "@" and "#" in a password or value must be percent-encoded'
const HOST_PROBLEM = `host or port is invalid; ${ENCODING_ADVICE}`

const portParser = wholeNumber(1, 65_535)

/** Return the parsed address or its problem; `undefined` for another kind of address. */
function parsePostgresAddress(text: string): PostgresAddress | string | undefined {
  if (!/^postgres(?:ql)?:/i.test(text)) return undefined
  const split = splitAddress(text)
  if (typeof split === 'string') return split
  const parameters = split.url.searchParams
  const problem = findParameterProblem(parameters) ?? findPartProblem(split.parts)
  if (problem !== undefined) return problem
  const { database, user, password, host, port } = split.parts as AddressParts
  const options = parseParameters(parameters)
  const isSocket = host.startsWith('/')
  if (isSocket && options.channelBinding === 'require')
    return 'channel_binding=require is impossible with a Unix socket'
  return {
    ...options,
    // As libpq: a Unix socket is never encrypted.
    ...(isSocket && { tls: 'disable' }),
    kind: 'postgres',
    text: new Secret(text),
    label: `${host}:${port}/${database}`,
    host,
    port: Number(port),
    database,
    user,
    password: password === '' ? null : new Secret(password),
  }
}

type AddressParts = Readonly<Record<'database' | 'user' | 'password' | 'host' | 'port', string>>

/** Start with user and password; host and port; path, parameters and fragment. */
const SECTIONS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^]*)$/i
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d*))?$/

/**
 * Split the address, or return its problem. `URL` refuses a port or user without a host, and a folder as host, so it parses
 * the rest. `parts` is `undefined` when they are not percent-encoded.
 */
function splitAddress(text: string): Readonly<{ url: URL; parts: AddressParts | undefined }> | string {
  const [, start, authority = '', rest = ''] = SECTIONS.exec(text) ?? []
  if (start === undefined) return 'the host is missing'
  const problem = findAuthorityProblem(authority)
  if (problem !== undefined) return problem
  if (hasTornPassword(start, rest)) return `"@" is in the wrong place; ${ENCODING_ADVICE}`
  // In an address for libpq, "+" is no space.
  const url = parseUrl(`${start}host${rest.replaceAll('+', '%2B')}`)
  if (url === undefined) return HOST_PROBLEM
  return url.hash === '' ? { url, parts: decodeParts(url, authority) } : '"#" must be percent-encoded'
}

/** Whether an "@" after the host ends a password that contains "/" or "?". In a parameter, it is one of its characters. */
function hasTornPassword(start: string, rest: string): boolean {
  return rest.includes('@') && (!start.includes('@') || /^[^?]*@/.test(rest))
}

function findAuthorityProblem(authority: string): string | undefined {
  if (authority.includes(',')) return 'several hosts are not supported: name one'
  const match = HOST_AND_PORT.exec(authority)
  const port = match?.[2] ?? ''
  return match !== null && (port === '' || portParser.parse(port) !== undefined) ? undefined : HOST_PROBLEM
}

/** Percent-decode the parts; `undefined` if one is invalid. Parameters replace them, as for libpq. */
function decodeParts(url: URL, authority: string): AddressParts | undefined {
  const [, urlHost = '', urlPort = ''] = HOST_AND_PORT.exec(authority) ?? []
  const decode = (parameter: string, encoded: string): string =>
    url.searchParams.get(parameter) ?? decodeURIComponent(encoded)
  try {
    return {
      database: decode('dbname', url.pathname.slice(1)),
      user: decode('user', url.username),
      password: decode('password', url.password),
      host: decode('host', urlHost).replace(/^\[|\]$/g, ''),
      port: decode('port', urlPort === '' ? DEFAULT_PORT : urlPort),
    }
  } catch {
    return undefined
  }
}

function findPartProblem(parts: AddressParts | undefined): string | undefined {
  if (parts === undefined) return '"%" in user, password or database must be written as %25'
  const { host, user, database } = parts
  if (host === '') return 'the host is missing; for a Unix socket add ?host=/FOLDER'
  const missingPart = Object.entries({ user, database }).find(([, part]) => part === '')?.[0]
  if (missingPart !== undefined) return `the ${missingPart} is missing`
  if (database.includes('/')) return 'the database name contains "/"'
  return /^(?:\/.*|[^\s/\\<>^|%,]+)$/.test(host) ? undefined : HOST_PROBLEM
}

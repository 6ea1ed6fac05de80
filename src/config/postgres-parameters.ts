import { type ValueParser, oneOf, wholeNumber } from './parsers.ts'

/** `sslmode` values of PostgreSQL. `verify-full` also checks the server name. */
type TlsMode = 'disable' | 'require' | 'verify-ca' | 'verify-full'

/** What the parameters after "?" say, except for host, port, user, password and database. */
export type PostgresParameters = Readonly<{
  tls: TlsMode
  /** File with the accepted root certificates; `null`: those of Node. */
  tlsRootFile: string | null
  /** Files with the certificate and key of this client. */
  tlsCertificateFile: string | null
  tlsKeyFile: string | null
  /** `direct` begins with TLS, without asking the server first. */
  tlsNegotiation: 'postgres' | 'direct'
  /** Whether the server must prove that it knows the password, on the same TLS connection. */
  channelBinding: 'disable' | 'prefer' | 'require'
  /** Connections of one process, at least 2: some for reads, the others for writes. */
  poolSize: number
  connectTimeoutMs: number
  /** Time limit of a read for a visitor. Writes get twice as long, and statements of a walk two minutes. */
  statementTimeoutMs: number
  applicationName: string
  /** Settings for the server process, such as `-c work_mem=8MB`. Those that Vitrine sets itself come later and win. */
  options: string | null
  isKeptAlive: boolean
  /** Idle time before the first keepalive probe; 0: the default of the system. */
  keepAliveIdleMs: number
}>

const SECOND_MS = 1_000
const MAX_POOL_SIZE = 1_000
const MAX_TIMEOUT_MS = 60_000
const MIN_CONNECT_TIMEOUT_S = 2
const MAX_PORT = 65_535
const MAX_KEEPALIVE_IDLE_S = 86_400

/** The modes that libpq knows are weaker than they look: they connect without encryption if the server wants that. */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const

const TLS_SWITCH = ['true', '1', 'false', '0', 'no-verify'] as const

type Check = (text: string) => boolean

function toCheck({ parse }: ValueParser<unknown>): Check {
  return (text) => parse(text) !== undefined
}

const isFileName: Check = (text) => text !== ''
const isPrintable: Check = (text) => /^[\x20-\x7e]+$/.test(text)

/** Validators of the supported parameters: those of libpq, and `…_ms`, `pool_size`, `ssl` and `uselibpqcompat`. */
const CHECKS: Readonly<Record<string, Check>> = {
  host: (text) => /^(?:\/.*|[^\s/,:]+|[\da-f:.]+)$/i.test(text),
  port: toCheck(wholeNumber(1, MAX_PORT)),
  user: isFileName,
  password: () => true,
  dbname: isFileName,
  sslmode: toCheck(oneOf(TLS_MODES)),
  ssl: toCheck(oneOf(TLS_SWITCH)),
  sslrootcert: isFileName,
  sslcert: isFileName,
  sslkey: isFileName,
  sslnegotiation: toCheck(oneOf(['postgres', 'direct'])),
  channel_binding: toCheck(oneOf(['disable', 'prefer', 'require'])),
  gssencmode: toCheck(oneOf(['disable', 'prefer'])),
  target_session_attrs: toCheck(oneOf(['any', 'read-write', 'primary'])),
  client_encoding: (text) => /^(?:utf-?8|unicode|auto)$/i.test(text),
  uselibpqcompat: toCheck(oneOf(['true', 'false'])),
  pool_size: toCheck(wholeNumber(2, MAX_POOL_SIZE)),
  connect_timeout: (text) => /^-?\d{1,9}$/.test(text),
  connect_timeout_ms: toCheck(wholeNumber(1, MAX_TIMEOUT_MS)),
  statement_timeout_ms: toCheck(wholeNumber(1, MAX_TIMEOUT_MS)),
  application_name: isPrintable,
  fallback_application_name: isPrintable,
  options: isPrintable,
  keepalives: toCheck(oneOf(['0', '1'])),
  keepalives_idle: toCheck(wholeNumber(0, MAX_KEEPALIVE_IDLE_S)),
}

/** What a valid value is, where this is not obvious. */
const HINTS: Readonly<Record<string, string>> = {
  host: 'name one host, or the folder of a Unix socket',
  port: 'name one port',
  sslmode:
    'it is disable, require, verify-ca or verify-full; allow and prefer could connect without encryption',
  ssl: 'it is true, false or no-verify',
  gssencmode: 'the driver cannot encrypt with Kerberos',
  target_session_attrs: 'Vitrine writes, so it is any, read-write or primary',
  client_encoding: 'it is always UTF8',
  connect_timeout: 'it is a number of seconds',
}

/** Why known parameters are refused: those of libpq that the driver cannot honour, and those of other programs. */
const REFUSALS: Readonly<Record<string, string>> = {
  hostaddr: 'write the IP address as the host',
  passfile: 'write the password into the address',
  service: 'write its values into the address',
  load_balance_hosts: 'only one host is possible',
  keepalives_interval: 'Node.js cannot set it',
  keepalives_count: 'Node.js cannot set it',
  tcp_user_timeout: 'Node.js cannot set it',
  sslpassword: 'the file of sslkey must not be encrypted',
  require_auth: 'channel_binding=require is possible',
  schema: 'the schemas are vitrine_copy and vitrine_catalog',
  search_path: 'the schemas are vitrine_copy and vitrine_catalog',
  currentSchema: 'the schemas are vitrine_copy and vitrine_catalog',
  pgbouncer: 'remove it; a pooler must use session mode',
  connection_limit: 'use pool_size',
  pool_timeout: 'use connect_timeout_ms',
  statement_timeout: 'use statement_timeout_ms',
  sslaccept: 'use sslmode',
}

/** Return what is wrong with the parameters: names, but no values. */
export function findParameterProblem(parameters: URLSearchParams): string | undefined {
  for (const [name, text] of parameters) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
    if (check === undefined) return describeRefusal(name, parameters)
    if (parameters.getAll(name).length > 1) return `${name} is given twice`
    if (!check(text)) return [`${name} has an invalid value`, HINTS[name] ?? []].flat().join(': ')
  }
  return CONTRADICTIONS.find(([isMet]) => isMet(parameters))?.[1]
}

/** Half a password can look like a name if it contains "&". */
function describeRefusal(name: string, parameters: URLSearchParams): string {
  const reason = Object.hasOwn(REFUSALS, name) ? REFUSALS[name] : undefined
  if (reason !== undefined) return `${name} is not supported: ${reason}`
  const isShowable = /^[a-z]\w{0,40}$/i.test(name) && !parameters.has('password')
  return isShowable ? `unknown parameter ${name} after "?"` : 'unknown parameter after "?"'
}

/** Conditions on several parameters, each with its problem. */
const CONTRADICTIONS: readonly (readonly [
  isMet: (parameters: URLSearchParams) => boolean,
  problem: string,
])[] = [
  [
    (parameters) => parameters.has('connect_timeout') && parameters.has('connect_timeout_ms'),
    'connect_timeout and connect_timeout_ms are both given',
  ],
  [
    (parameters) =>
      parameters.has('ssl') &&
      (toMode(parameters.get('ssl')) === 'disable') !== (getMode(parameters) === 'disable'),
    'ssl and sslmode contradict each other',
  ],
  [
    (parameters) => parameters.has('sslcert') !== parameters.has('sslkey'),
    'sslcert and sslkey belong together',
  ],
  [
    (parameters) => isSystemRoot(parameters) && ![null, 'verify-full'].includes(getMode(parameters)),
    'sslrootcert=system needs sslmode=verify-full',
  ],
  [
    (parameters) =>
      parameters.has('sslrootcert') && !isSystemRoot(parameters) && getMode(parameters) === null,
    'sslrootcert needs sslmode, for example sslmode=verify-full',
  ],
  [
    (parameters) => parameters.has('sslcert') && isUnencrypted(parameters),
    'sslcert needs sslmode, for example sslmode=verify-full',
  ],
  [
    (parameters) => parameters.get('sslnegotiation') === 'direct' && isUnencrypted(parameters),
    'sslnegotiation=direct needs sslmode, for example sslmode=verify-full',
  ],
  [
    (parameters) => parameters.get('channel_binding') === 'require' && isUnencrypted(parameters),
    'channel_binding=require needs sslmode, for example sslmode=require',
  ],
]

function getMode(parameters: URLSearchParams): string | null {
  return parameters.get('sslmode') ?? toMode(parameters.get('ssl'))
}

function isSystemRoot(parameters: URLSearchParams): boolean {
  return parameters.get('sslrootcert') === 'system'
}

function isUnencrypted(parameters: URLSearchParams): boolean {
  return !isSystemRoot(parameters) && [null, 'disable'].includes(getMode(parameters))
}

function toMode(ssl: string | null): string | null {
  if (ssl === null || ssl === 'no-verify') return ssl
  return ssl === 'false' || ssl === '0' ? 'disable' : 'require'
}

/** Convert parameters in which `findParameterProblem` found nothing wrong. */
export function parseParameters(parameters: URLSearchParams): PostgresParameters {
  const get = (name: string): string | null => parameters.get(name)
  const rootFile = get('sslrootcert')
  return {
    tls: parseTlsMode(parameters),
    tlsRootFile: rootFile === 'system' ? null : rootFile,
    tlsCertificateFile: get('sslcert'),
    tlsKeyFile: get('sslkey'),
    tlsNegotiation: get('sslnegotiation') === 'direct' ? 'direct' : 'postgres',
    channelBinding: (get('channel_binding') ?? 'disable') as PostgresParameters['channelBinding'],
    poolSize: Number(get('pool_size') ?? 10),
    connectTimeoutMs: parseConnectTimeout(parameters),
    statementTimeoutMs: Number(get('statement_timeout_ms') ?? 1_000),
    applicationName: get('application_name') ?? get('fallback_application_name') ?? 'vitrine',
    options: get('options'),
    isKeptAlive: get('keepalives') !== '0',
    keepAliveIdleMs: Number(get('keepalives_idle') ?? 0) * SECOND_MS,
  }
}

function parseTlsMode(parameters: URLSearchParams): TlsMode {
  if (isSystemRoot(parameters)) return 'verify-full'
  const mode = getMode(parameters) ?? 'disable'
  if (mode === 'no-verify') return 'require'
  // As libpq: with root certificates, `require` checks the certificate.
  return mode === 'require' && parameters.has('sslrootcert') ? 'verify-ca' : (mode as TlsMode)
}

/** As libpq: 0 and less is no limit, and 1 second is 2. No visitor can wait longer than our maximum. */
function parseConnectTimeout(parameters: URLSearchParams): number {
  const seconds = Number(parameters.get('connect_timeout') ?? NaN)
  if (Number.isNaN(seconds)) return Number(parameters.get('connect_timeout_ms') ?? 2_000)
  if (seconds <= 0) return MAX_TIMEOUT_MS
  return Math.min(Math.max(seconds, MIN_CONNECT_TIMEOUT_S) * SECOND_MS, MAX_TIMEOUT_MS)
}

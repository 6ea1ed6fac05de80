/** What failed connections mean, for the catalog, feeds, pictures, the webhook and PostgreSQL. */

/**
 * A request that this server ended. Callers make their own errors of it. `message`: what the response does or is, such as "is
 * larger than 10 bytes", without any part of it.
 */
export class RequestError extends Error {
  readonly code:
    | 'DEADLINE'
    | 'IDLE'
    | 'PRIVATE_ADDRESS'
    | 'REDIRECT_TARGET'
    | 'TOO_MANY_REDIRECTS'
    | 'TOO_LARGE'
    | 'ENCODING'

  constructor(code: RequestError['code'], message: string) {
    super(message)
    this.code = code
  }
}

type Meaning = Readonly<{
  codes: RegExp
  reason: string
  /** What to do. `SETTING` is replaced by the setting of the address. */
  remedy: string
}>

const CLOCK_REMEDY = 'Renew the certificate, or correct the clock of this machine.'

const SCHEME_REMEDY = 'Check http or https, and the port, in SETTING.'

const REACH_REMEDY = 'Check SETTING, that the server runs, and that this machine can reach it.'

const UNKNOWN_AUTHORITY: Meaning = {
  codes:
    /^(?:UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(?:_LOCALLY)?)|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT.*|CERT_UNTRUSTED)$/,
  reason: 'this machine does not trust the authority of the certificate',
  remedy:
    'Set NODE_EXTRA_CA_CERTS to a PEM file with the certificate of the authority, and restart. If the authority is a public one, the server does not send its intermediate certificate.',
}

const INVALID_CERTIFICATES: readonly Meaning[] = [
  { codes: /^CERT_HAS_EXPIRED$/, reason: 'the certificate has expired', remedy: CLOCK_REMEDY },
  { codes: /^CERT_NOT_YET_VALID$/, reason: 'the certificate is not valid yet', remedy: CLOCK_REMEDY },
  {
    codes: /^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    reason: 'the certificate is for another name',
    remedy: 'Use a name of the certificate in SETTING.',
  },
  {
    codes: /^(?:CERT_|CRL_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|UNABLE_TO_)/,
    reason: 'the certificate is not valid',
    remedy: 'Replace the certificate of the server.',
  },
]

/** The first match applies. */
const MEANINGS: readonly Meaning[] = [
  UNKNOWN_AUTHORITY,
  ...INVALID_CERTIFICATES,
  {
    codes: /^(?:EPROTO|ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/,
    reason: 'the server does not speak https',
    remedy: SCHEME_REMEDY,
  },
  { codes: /^ERR_SSL_/, reason: 'this machine and the server cannot agree on TLS', remedy: SCHEME_REMEDY },
  {
    codes: /^(?:HPE_HEADER_OVERFLOW|UND_ERR_HEADERS_OVERFLOW)$/,
    reason: 'the headers of its response are too long',
    remedy: REACH_REMEDY,
  },
  { codes: /^HPE_/, reason: 'its server does not respond with HTTP', remedy: SCHEME_REMEDY },
  {
    codes: /^ENOTFOUND$/,
    reason: 'the host is unknown',
    remedy: 'Check the host in SETTING, and the name server of this machine.',
  },
  {
    codes: /^EAI_/,
    reason: 'the host cannot be resolved now',
    remedy: 'Check the name server of this machine.',
  },
  { codes: /^ECONNREFUSED$/, reason: 'connection refused', remedy: REACH_REMEDY },
  {
    codes: /^E(?:HOST|NET)(?:UNREACH|DOWN)$/,
    reason: 'there is no route to the host',
    remedy: REACH_REMEDY,
  },
  {
    codes: /^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/,
    reason: 'the host does not accept the connection in time',
    remedy: REACH_REMEDY,
  },
  { codes: /_TIMEOUT$/, reason: 'the server sent nothing in time', remedy: REACH_REMEDY },
  {
    codes: /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/,
    reason: 'the connection was closed before the end',
    remedy: `${REACH_REMEDY} A port for https closes connections of http.`,
  },
  {
    codes: /^PROXY_STATUS_407$/,
    reason: 'the proxy demands a user and password',
    remedy: 'Put them into HTTPS_PROXY or HTTP_PROXY, percent-encoded: http://USER:PASSWORD@HOST:PORT.',
  },
  {
    codes: /^PROXY_STATUS_/,
    reason: 'the proxy refused the connection',
    remedy: 'Allow the host and its port in the proxy, or add the host to NO_PROXY.',
  },
]

const PROXY_REMEDY = 'Check HTTPS_PROXY and HTTP_PROXY, and that the proxy runs; or add the host to NO_PROXY.'

/** Code of a failed connection to a proxy. The others have the status of its response. */
const PROXY_CONNECTION_CODE = /^PROXY_(?!STATUS_)/

function findMeaning(code: string): Pick<Meaning, 'reason' | 'remedy'> | undefined {
  const ownCode = code.replace(PROXY_CONNECTION_CODE, '')
  const meaning = MEANINGS.find(({ codes }) => codes.test(ownCode))
  if (ownCode === code) return meaning
  const reason = `the proxy failed: ${meaning?.reason ?? 'no usable response'}`
  return { reason, remedy: meaning === UNKNOWN_AUTHORITY ? meaning.remedy : PROXY_REMEDY }
}

/** Return the code of a connection's error, which contains nothing of the address or the response. */
export function findConnectionCode(error: unknown): string | undefined {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  // undici's parser has no code for each of its errors.
  if (code === undefined && name === 'HTTPParserError') return 'HPE_INVALID'
  return typeof code === 'string' && /^[A-Z_0-9]{1,80}$/.test(code) ? code : undefined
}

/** Say in plain words why a connection failed; `undefined` for a code without a meaning. */
export function findConnectionReason(code: string | undefined): string | undefined {
  return code === undefined ? undefined : findMeaning(code)?.reason
}

/** The reason, and the code to search for; a code without a meaning as it is. */
export function describeConnectionFailure(code: string | undefined): string | undefined {
  const reason = findConnectionReason(code)
  return reason === undefined ? code : `${reason} (${code})`
}

/** Return what to do. `setting` names where the address is set. */
export function getConnectionRemedy(code: string | undefined, setting: string): string {
  const { remedy } = findMeaning(code ?? '') ?? { remedy: REACH_REMEDY }
  return remedy.replace('SETTING', setting)
}

/** Return the code at the end of a text of `describeConnectionFailure`. */
export function findDescribedCode(text: string): string | undefined {
  return /\(([A-Z_\d]+)\)$/.exec(text)?.[1]
}

/** Return what to do for a text of `describeConnectionFailure`; `undefined` for other texts. */
export function findDescribedRemedy(text: string, setting: string): string | undefined {
  const code = findDescribedCode(text)
  return code === undefined || findMeaning(code) === undefined
    ? undefined
    : getConnectionRemedy(code, setting)
}

/** Whether a server, not the proxy, exceeded a deadline, or a timeout of undici, which backs it up. */
export function isServerTimeout(code: string | undefined): boolean {
  return code !== undefined && /^(?:DEADLINE|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/.test(code)
}

/** Whether the certificate is invalid, whatever its authority: it has expired or is for another name, for example. */
export function isInvalidCertificate(code: string | undefined): boolean {
  return (
    code !== undefined &&
    !isUnknownAuthority(code) &&
    INVALID_CERTIFICATES.some(({ codes }) => codes.test(code))
  )
}

/** Whether the certificate is from an authority that this machine does not know. */
export function isUnknownAuthority(code: string | undefined): boolean {
  return code !== undefined && UNKNOWN_AUTHORITY.codes.test(code.replace(PROXY_CONNECTION_CODE, ''))
}

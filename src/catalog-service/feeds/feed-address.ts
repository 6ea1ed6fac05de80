import { fileURLToPath } from 'node:url'
import { type Secrets, redactInLog } from '../../config/secrets.ts'
import { FeedFetchError, UsageError } from '../../errors.ts'
import { parseUrl } from '../../lib/urls.ts'

export type FeedSecrets = Secrets['feedSecrets']

/** Where to fetch a feed. `label`: what may be printed of the address. */
export type FeedAddress = Readonly<{ url: URL; label: string }>

const PLACEHOLDER = /\$\{([^}]*)\}/g
const SECRET_NAME = /^[A-Z][A-Z0-9_]*$/
const SECRET = /\$\{([A-Z][A-Z0-9_]*)\}/g
const WHOLE_ADDRESS = /^\$\{[A-Z][A-Z0-9_]*\}$/

/** What an operator may set: an address of http, https or file, in which `${NAME}` stands for a secret. @throws UsageError */
export function parseFeedAddress(text: string): string {
  const names = [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name)
  const badName = names.find((name) => !SECRET_NAME.test(name))
  if (badName !== undefined)
    throw new UsageError(
      '${NAME} in an address needs a name of capital letters, digits and underscores: ${AWIN_KEY} is filled from the setting VITRINE_FEED_AWIN_KEY',
    )
  if (WHOLE_ADDRESS.test(text)) return text
  const url = parseUrl(text.replace(PLACEHOLDER, 'x'))
  if (url !== undefined && /^s?ftps?:$/.test(url.protocol)) throw new UsageError(FTP_ADVICE)
  if (url === undefined || !isSupported(url))
    throw new UsageError('--url accepts an address that begins with https://, http:// or file:///')
  const [origin = ''] = /^[^:]*:\/\/[^/?#]*/.exec(text) ?? []
  if (origin.includes('${'))
    throw new UsageError('${NAME} may stand in the path or the query of an address, or be the whole address')
  return text
}

const FTP_ADVICE =
  'addresses of FTP are not supported: fetch the file with another program on a schedule, for example "curl --output feed.gz ftp://…", and use its address file:///…'

function isSupported(url: URL): boolean {
  const { protocol, hostname, username, password } = url
  if (protocol === 'file:') return hostname === '' && isFilePath(url)
  return (
    (protocol === 'https:' || protocol === 'http:') &&
    // Together with the host they could be printed.
    hostname !== '' &&
    (username === '') === (password === '')
  )
}

/** Whether the percent-encoded parts are a valid path. */
function isFilePath(url: URL): boolean {
  try {
    fileURLToPath(url)
    return true
  } catch {
    return false
  }
}

/** Fill in the secrets. @throws FeedFetchError when one is not set, or the result is no address */
export function resolveFeedAddress(text: string, secrets: FeedSecrets): FeedAddress {
  const isWhole = WHOLE_ADDRESS.test(text)
  const resolved = fillSecrets(text, secrets, {
    place: 'the address',
    ...(!isWhole && { encode: encodeURIComponent }),
  })
  const url = parseUrl(resolved)
  if (url === undefined || !isSupported(url))
    throw new FeedFetchError('the address of the feed is not valid once its secrets are filled in')
  // For the log of this thread or command: the path may be a key.
  if (url.protocol !== 'file:') redactInLog(`${url.pathname}${url.search}`)
  return { url, label: url.protocol === 'file:' ? describeFeedAddress(text) : describeFeedUrl(url) }
}

/** `place`: where the text is from. */
type FillOptions = Readonly<{ place: string; encode?: (value: string) => string }>

/** Replace each `${NAME}`; other text in braces may be part of a secret, so it stays. @throws FeedFetchError when a secret is not set */
export function fillSecrets(
  text: string,
  secrets: FeedSecrets,
  { place, encode = (value) => value }: FillOptions,
): string {
  return text.replace(SECRET, (_, name: string) => {
    const secret = secrets.get(name)
    if (secret === undefined)
      throw new FeedFetchError(
        `${place} needs the setting VITRINE_FEED_${name}, which is not set: add it to .env, and restart the server`,
      )
    return encode(secret.reveal())
  })
}

/** Describe an address without its secrets: only the origin of a web address, the path of a file. */
export function describeFeedAddress(text: string): string {
  if (WHOLE_ADDRESS.test(text)) return text
  // The path of a file, with the names of its secrets.
  if (/^file:/i.test(text)) return text.replace(/^file:\/\//i, '')
  const url = parseUrl(text.replace(PLACEHOLDER, 'x'))
  return url === undefined ? '…' : describeFeedUrl(url)
}

function describeFeedUrl(url: URL): string {
  return url.pathname === '/' && url.search === '' ? url.origin : `${url.origin}/…`
}

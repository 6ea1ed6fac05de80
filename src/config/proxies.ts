import { parseUrl } from '../lib/urls.ts'
import { IN_QUOTES, isInQuotes } from './parsers.ts'
import { type Proxies, Secret, redactInLog } from './secrets.ts'

/** The same as plain text for another thread of this process. It can contain passwords. */
export type SerializedProxies = Readonly<{ http: string | null; https: string | null; noProxy: string }>

const EXPECTED =
  'the address of an HTTP proxy, http://USER:PASSWORD@HOST:PORT, with user and password percent-encoded'

/** Parse `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. As in curl, the name in lower case comes first. */
export function parseProxies(
  environment: Readonly<Record<string, string | undefined>>,
  problems: string[],
): Proxies {
  const find = (variable: string) => {
    const spellings = [variable.toLowerCase(), variable]
    const name = spellings.find((spelling) => environment[spelling]?.trim()) ?? variable
    const text = environment[name]?.trim() ?? ''
    if (!isInQuotes(text)) return { name, text }
    problems.push(`${name}: ${IN_QUOTES}`)
    return { name, text: '' }
  }
  const parse = (variable: string): Secret | null => {
    const { name, text } = find(variable)
    if (text === '') return null
    const result = parseProxy(text)
    if (result instanceof Secret) return result
    problems.push(`${name}: ${result}expected ${EXPECTED}`)
    return null
  }
  return Object.freeze({
    http: parse('HTTP_PROXY'),
    https: parse('HTTPS_PROXY'),
    noProxy: find('NO_PROXY').text,
  })
}

/** Return the complete address, or what is wrong with it, without quoting it. */
function parseProxy(text: string): Secret | string {
  if (text.includes('@')) redactInLog(text)
  if (/^socks\w*:\/\//i.test(text)) return 'SOCKS proxies are not supported; '
  const url = parseUrl(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`)
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname + url.search + url.hash !== '/')
    return ''
  try {
    redactInLog(decodeURIComponent(url.password))
    decodeURIComponent(url.username)
  } catch {
    return 'a "%" in user or password must be written as %25; '
  }
  redactInLog(url.password)
  return new Secret(url.href)
}

export function serializeProxies({ http, https, noProxy }: Proxies): SerializedProxies {
  return { http: http?.reveal() ?? null, https: https?.reveal() ?? null, noProxy }
}

export function parseSerializedProxies({ http, https, noProxy }: SerializedProxies): Proxies {
  return parseProxies({ http_proxy: http ?? '', https_proxy: https ?? '', no_proxy: noProxy }, [])
}

import { createSubSlot } from '../lib/sub-template.ts'
import { MAX_LINK_CHARACTERS } from './links.ts'
import { foldCase } from './text.ts'

/**
 * Where the id of a placement, the sub-id, goes in an affiliate link. `before` and `after` are inserted around it at `index`;
 * at most `maxCharacters` of the sub-id fit.
 */
export type SubPosition = Readonly<{ index: number; before: string; after: string; maxCharacters: number }>

/** The rules of the networks. */
export type SubRules = Readonly<{
  /**
   * Find the position of the sub-id in a link; `undefined` when no rule applies, when the link already has a sub-id, and when it is
   * signed. Such a link stays byte for byte.
   */
  findPosition(offer: TrackedLink): SubPosition | undefined
}>

type TrackedLink = Readonly<{ network: string; affiliateUrl: string }>

/**
 * A form of a network's links. What follows the host must begin with `start`.
 * - `parameter`: a query parameter. First, because many links end with an unencoded destination address.
 * - `insert`: any text with `{sub}`, before the first of the texts `before`; without such texts, at the end of the link. A link
 *   that contains none of them has another form.
 */
export type SubForm = Readonly<{ start: string }> &
  (
    | Readonly<{ kind: 'parameter'; name: string; isLast: boolean }>
    | Readonly<{ kind: 'insert'; insert: string; before: readonly string[] }>
  )

/** The rules of one network. The first form that fits a link is used. */
export type SubNetwork = Readonly<{
  /** Names of the network in offers, compared without case. */
  names: readonly string[]
  /** Hosts of its links; `*.` stands for any subdomain. */
  hosts: readonly string[]
  maxCharacters: number
  /** Query parameters of signed links. */
  signatures: readonly string[]
  forms: readonly SubForm[]
}>

/** Why a link stays as it is. `other_form`: the rules of its network are for other hosts or forms of links. */
export type SubSkip = 'no_rule' | 'other_form' | 'signed' | 'tagged' | 'too_long'

export type ExplainedSubRules = SubRules &
  Readonly<{
    /** Find the position of the sub-id in a link, or the reason why the link stays as it is. */
    examine(offer: TrackedLink): SubPosition | SubSkip
  }>

/** Longest text that the file may insert around a sub-id. */
export const MAX_INSERT_CHARACTERS = 64

/** A link with a sub-id of 32 characters must still be a usable link. */
const MAX_TAGGED_CHARACTERS = MAX_LINK_CHARACTERS - MAX_INSERT_CHARACTERS - 32

/** Query parameters that commonly sign a link: any change could make it invalid. */
export const SIGNATURE_PARAMETERS: readonly string[] = [
  'sig',
  '.sig',
  'signature',
  'x-amz-signature',
  'sign',
  'hmac',
  'hash',
  'checksum',
  'md5',
]

/** The host of a link, up to its path. Links with credentials or unusual host names match no rule. */
const LINK_HOST = /^https?:\/\/([a-z\d.-]+)(?::\d{1,5})?(?=[/?#]|$)/i

/** A query that is empty, or begins with `name=`: not with a bare id, a destination address or `p(1)`. */
const NAMED_QUERY = /^&*(?:[^=&?#/:()[\]]+=|#|$)/

export const NO_SUB_RULES: SubRules = { findPosition: () => undefined }

/** Insert a sub-id at its position. The rest of the link stays byte for byte. */
export function insertSub(
  link: string,
  { index, before, after, maxCharacters }: SubPosition,
  sub: string,
): string {
  return `${link.slice(0, index)}${before}${sub.slice(0, maxCharacters)}${after}${link.slice(index)}`
}

export function createSubRules(networks: readonly SubNetwork[]): ExplainedSubRules {
  const rules = new Map<string, LinkRule>()
  for (const network of networks) {
    const rule = createLinkRule(network)
    for (const name of network.names) rules.set(foldCase(name), rule)
  }
  const examine = ({ network, affiliateUrl }: TrackedLink): SubPosition | SubSkip =>
    rules.get(foldCase(network))?.(affiliateUrl) ?? 'no_rule'
  return {
    examine,
    findPosition(offer) {
      const result = examine(offer)
      return typeof result === 'string' ? undefined : result
    },
  }
}

type LinkRule = (link: string) => SubPosition | SubSkip

function createLinkRule({ hosts, maxCharacters, signatures, forms }: SubNetwork): LinkRule {
  const exactHosts = new Set(hosts)
  const hostEndings = hosts.filter((host) => host.startsWith('*.')).map((host) => host.slice(1))
  const isHost = (host: string): boolean =>
    exactHosts.has(host) || hostEndings.some((ending) => host.endsWith(ending))
  const isSigned = createSignatureTest(signatures)
  const finders = forms.map(createFinder)
  return (text) => {
    const [origin = '', host = ''] = LINK_HOST.exec(text) ?? []
    if (!isHost(host.toLowerCase())) return 'other_form'
    if (text.length > MAX_TAGGED_CHARACTERS) return 'too_long'
    if (isSigned(text)) return 'signed'
    const link = splitLink(text, origin.length)
    for (const find of finders) {
      const position = find(link)
      if (position === 'tagged') return position
      if (position !== undefined) return { ...position, maxCharacters }
    }
    return 'other_form'
  }
}

function createSignatureTest(names: readonly string[]): (link: string) => boolean {
  if (names.length === 0) return () => false
  const pattern = new RegExp(`[?&;](?:${names.map(toPattern).join('|')})=[^&#]`, 'i')
  return (link) => pattern.test(link)
}

/** `queryIndex`: after the first "?", or -1; `end`: of the part that a browser sends, which is where a fragment begins. */
type Link = Readonly<{ text: string; pathIndex: number; queryIndex: number; end: number }>

function splitLink(text: string, pathIndex: number): Link {
  const hashIndex = text.indexOf('#')
  const end = hashIndex < 0 ? text.length : hashIndex
  const questionIndex = text.indexOf('?')
  const hasQuery = questionIndex >= 0 && questionIndex < end
  return { text, pathIndex, queryIndex: hasQuery ? questionIndex + 1 : -1, end }
}

/** `undefined`: the link has another form. */
type FoundPosition = Omit<SubPosition, 'maxCharacters'> | 'tagged' | undefined

function createFinder(form: SubForm): (link: Link) => FoundPosition {
  const find = form.kind === 'parameter' ? createParameterFinder(form) : createInsertFinder(form)
  return (link) => (link.text.startsWith(form.start, link.pathIndex) ? find(link) : undefined)
}

function createParameterFinder({ name, isLast }: Extract<SubForm, { kind: 'parameter' }>) {
  const pattern = new RegExp(`[?&;]${toPattern(name)}(?:=[^&#]*)?(?=[&;#]|$)`, 'gi')
  return (link: Link): FoundPosition => {
    const { text, queryIndex } = link
    if (queryIndex >= 0 && !NAMED_QUERY.test(text.slice(queryIndex))) return undefined
    const match = findOnlyMatch(pattern, text)
    if (match === undefined) return toNewParameterPosition(link, name, isLast)
    return match === 'several' ? 'tagged' : toValuePosition(link, match, name)
  }
}

function toNewParameterPosition({ queryIndex, end }: Link, name: string, isLast: boolean): FoundPosition {
  if (queryIndex < 0) return { index: end, before: `?${name}=`, after: '' }
  if (queryIndex === end) return { index: end, before: `${name}=`, after: '' }
  if (isLast) return { index: end, before: `&${name}=`, after: '' }
  return { index: queryIndex, before: `${name}=`, after: '&' }
}

/** Return the position of the value of a parameter that the link has without a value. */
function toValuePosition({ queryIndex, end }: Link, match: RegExpExecArray, name: string): FoundPosition {
  const [text] = match
  // Behind a second "?", a parameter belongs to an unencoded destination.
  const isOwn = match.index < end && (text.startsWith('&') || match.index === queryIndex - 1)
  const index = match.index + text.length
  if (isOwn && text.slice(1) === `${name}=`) return { index, before: '', after: '' }
  if (isOwn && text.slice(1) === name) return { index, before: '=', after: '' }
  return 'tagged'
}

function createInsertFinder({ insert, before }: Extract<SubForm, { kind: 'insert' }>) {
  const [prefix = '', suffix = ''] = insert.split('{sub}')
  const valueEnd = escapePattern(suffix === '' ? '/?#&' : suffix.charAt(0))
  const pattern = new RegExp(`${toPattern(prefix)}([^${valueEnd}]*)`, 'gi')
  return ({ text, pathIndex, end }: Link): FoundPosition => {
    const head = text.slice(0, end)
    const indexes = before.map((part) => head.indexOf(part, pathIndex)).filter((index) => index >= 0)
    if (before.length > 0 && indexes.length === 0) return undefined
    const index = Math.min(end, ...indexes)
    const match = findOnlyMatch(pattern, text)
    if (match === undefined) {
      // A link that ends with a slash already has that of the text.
      const isSlashed = prefix.startsWith('/') && head.charAt(index - 1) === '/'
      return { index, before: isSlashed ? prefix.slice(1) : prefix, after: suffix }
    }
    if (match === 'several' || match[1] !== '') return 'tagged'
    const valueIndex = match.index + match[0].length
    // Behind the position, the text belongs to the destination.
    return valueIndex > index ? 'tagged' : { index: valueIndex, before: '', after: '' }
  }
}

/** `pattern`: with the flag `g`. Most links have no match, which costs one search. */
function findOnlyMatch(pattern: RegExp, text: string): RegExpExecArray | 'several' | undefined {
  pattern.lastIndex = 0
  const match = pattern.exec(text)
  if (match === null) return undefined
  return pattern.test(text) ? 'several' : match
}

/** Return a pattern for a text whose letters and digits may be percent-encoded. */
function toPattern(text: string): string {
  return text.replace(/[^]/g, (character) => {
    if (!/[a-z\d]/i.test(character)) return escapePattern(character)
    const codes = [character.toLowerCase(), character.toUpperCase()].map(
      (letter) => `%${letter.charCodeAt(0).toString(16)}`,
    )
    return `(?:${[character, ...new Set(codes)].join('|')})`
  })
}

function escapePattern(text: string): string {
  return text.replace(/[$()*+./?[\\\]^{|}-]/g, '\\$&')
}

/** Return the link of an offer, with a slot where a rule applies. */
export function toLinkWithSlot({ network, affiliateUrl }: TrackedLink, rules: SubRules): string {
  const position = rules.findPosition({ network, affiliateUrl })
  if (position === undefined) return affiliateUrl
  const slot = createSubSlot(position.before, position.after, position.maxCharacters)
  return `${affiliateUrl.slice(0, position.index)}${slot}${affiliateUrl.slice(position.index)}`
}

/** Return the link of an offer for a placement; `null`: none. */
export function toLinkOfPlacement(
  { network, affiliateUrl }: TrackedLink,
  rules: SubRules,
  sub: string | null,
): string {
  const position = sub === null ? undefined : rules.findPosition({ network, affiliateUrl })
  return position === undefined || sub === null ? affiliateUrl : insertSub(affiliateUrl, position, sub)
}

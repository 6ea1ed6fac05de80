import { type DefaultTreeAdapterMap, type ParserError, parseFragment } from 'parse5'
import { getContrastRatio } from '../helpers/contrast.ts'

/**
 * Rules for the HTML of newsletters, from what is documented about two programs:
 *
 * - Outlook for Windows (2007 to 2021), which renders with Word: "Can I email" (caniemail.com, pages `css-…`, `html-…` and
 *   `image-…`), and Microsoft's list for Word 2007, which later versions still follow.
 * - Gmail: its list of supported CSS (developers.google.com/workspace/gmail/design/css), and "Can I email" for accounts of other
 *   providers in its apps.
 *
 * What is not listed here is an error.
 */

type Node = DefaultTreeAdapterMap['node']
type Element = DefaultTreeAdapterMap['element']

/** Maximum size of a newsletter in Gmail, which hides the rest behind a link, is 102 kB; a widget must leave room. */
const MAX_BYTES = 60_000

/**
 * Elements and their attributes. All are shown by both programs (caniemail: html-table, html-div, html-span, html-del, html-align,
 * html-valign, html-dir, html-lang, html-role, html-aria-label). Both remove `bdi` (html-bdi), and no feature is known for `s`.
 * `class` and `id` need a style sheet, which Gmail drops for accounts of other providers. `tbody` has no tag here.
 */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  table: [
    'role',
    'lang',
    'dir',
    'width',
    'align',
    'cellpadding',
    'cellspacing',
    'border',
    'bgcolor',
    'style',
  ],
  tbody: [],
  tr: [],
  td: ['width', 'align', 'valign', 'bgcolor', 'style'],
  // Programs may remove `translate`; browsers, which show the archive of a newsletter, do not.
  div: ['dir', 'translate', 'style'],
  span: ['dir', 'translate', 'style'],
  b: ['dir', 'translate', 'style'],
  del: ['dir', 'translate'],
  // Programs ignore `referrerpolicy`; browsers, which show the archive of a newsletter, do not.
  a: ['href', 'target', 'rel', 'referrerpolicy', 'aria-label', 'style'],
  img: ['src', 'alt', 'width', 'border', 'style'],
}

const COLOUR = /^#[0-9a-f]{6}$/
const PIXELS = /^\d{1,3}px$/
/** One to four lengths. Negative ones are removed by Gmail, and `auto` is unknown to Outlook (css-margin). */
const BOX = /^(?:0|\d{1,2}px)(?: (?:0|\d{1,2}px)){0,3}$/

/**
 * Properties: a pattern of their values, and the elements that may have them. `ignored`: elements for which Outlook ignores it,
 * where the layout works without.
 */
const PROPERTIES: Readonly<
  Record<string, Readonly<{ value: RegExp; elements: readonly string[]; ignored?: readonly string[] }>>
> = {
  // Outlook reads no rgb() with an alpha value, and Gmail drops a whole style attribute with the new syntax (css-rgb, css-rgba).
  color: { value: COLOUR, elements: ['td', 'div', 'b', 'a'] },
  // The shorthand `background` can have only a colour in Outlook (css-background).
  'background-color': { value: COLOUR, elements: ['table', 'td'] },
  // Outlook applies padding only to cells (css-padding).
  padding: { value: BOX, elements: ['td'] },
  // Unreliable on other elements in Outlook, and at most 8px wide (css-border).
  border: { value: /^1px solid #[0-9a-f]{6}$/, elements: ['td'] },
  'border-top': { value: /^[12]px solid #[0-9a-f]{6}$/, elements: ['td'] },
  // Outlook shows square corners (css-border-radius).
  'border-radius': { value: PIXELS, elements: [], ignored: ['td'] },
  // Not on blocks and pictures in Outlook (css-width): blocks are as wide as the cell, pictures have the attribute.
  width: { value: /^(?:100%|\d{1,3}px|auto)$/, elements: ['table', 'td'], ignored: ['div', 'img'] },
  // Outlook: only tables (css-max-width). Gmail: all.
  'max-width': { value: PIXELS, elements: ['table'], ignored: ['div', 'img'] },
  // Outlook shows pictures in their proportions (css-max-height).
  'max-height': { value: PIXELS, elements: [], ignored: ['img'] },
  height: { value: /^auto$/, elements: [], ignored: ['img'] },
  // Outlook stacks the blocks; Gmail knows no flex or grid for accounts of other providers (css-display).
  display: { value: /^(?:block|inline-block)$/, elements: [], ignored: ['div', 'a', 'img'] },
  'vertical-align': { value: /^middle$/, elements: [], ignored: ['div'] },
  // Gmail breaks long words itself (css-word-break).
  'word-break': { value: /^break-word$/, elements: ['table'] },
  // Outlook breaks the line (css-white-space).
  'white-space': { value: /^nowrap$/, elements: [], ignored: ['span'] },
  // `start` and `end` are unknown to Outlook (css-text-align).
  'text-align': { value: /^(?:left|right)$/, elements: ['td', 'div'] },
  // A list of fonts that every system has or replaces; web fonts become Times New Roman in Outlook.
  'font-family': { value: /^Arial,Helvetica,sans-serif$/, elements: ['td', 'a'] },
  // No rem (css-font-size).
  'font-size': { value: PIXELS, elements: ['td', 'div', 'b', 'a'] },
  'line-height': { value: PIXELS, elements: ['td', 'div', 'a'] },
  // Outlook knows two weights (css-font-weight).
  'font-weight': { value: /^bold$/, elements: ['div', 'a'] },
  // One line without style or colour (css-text-decoration).
  'text-decoration': { value: /^none$/, elements: ['a'] },
}

/** Contrast of WCAG 2.2 AA for normal text. */
const MIN_CONTRAST_RATIO = 4.5

/** List what breaks a rule in the HTML of a widget for newsletters. */
export function findMailErrors(html: string): readonly string[] {
  const errors: string[] = []
  const onParseError = ({ code }: ParserError): void => void errors.push(code)
  const fragment = parseFragment(html, { sourceCodeLocationInfo: true, onParseError })
  // A program for newsletters inserts the table into a cell of its own.
  if (fragment.childNodes.map(({ nodeName }) => nodeName).join(' ') !== 'table') errors.push('not one table')
  if (Buffer.byteLength(html) > MAX_BYTES) errors.push(`${Buffer.byteLength(html)} bytes`)
  if (!html.includes('max-width:600px')) errors.push('no maximum width')
  const check = (node: Node): void => {
    // Conditional comments are only for what this list does without.
    if (node.nodeName === '#comment') errors.push('comment')
    if ('tagName' in node) errors.push(...checkElement(node))
    if ('value' in node && node.value.trim() !== '') errors.push(...checkText(node))
    if ('childNodes' in node) node.childNodes.forEach(check)
  }
  check(fragment)
  return [...new Set(errors)]
}

function checkElement(element: Element): readonly string[] {
  const { tagName } = element
  const allowed = ATTRIBUTES[tagName]
  if (allowed === undefined) return [`<${tagName}>`]
  const names = element.attrs.map(({ name }) => name).filter((name) => !allowed.includes(name))
  return [
    ...names.map((name) => `<${tagName} ${name}>`),
    ...[...parseStyle(element)].flatMap((declaration) => checkDeclaration(tagName, declaration)),
    ...(ELEMENT_RULES[tagName]?.(toAttributes(element)) ?? []).map((error) => `<${tagName}>: ${error}`),
  ]
}

type Attributes = Readonly<Partial<Record<string, string>>>

/** Rules of an element beyond its lists. */
const ELEMENT_RULES: Readonly<Record<string, (attributes: Attributes) => readonly string[]>> = {
  // Without these, programs add space, and screen readers announce a table.
  table: ({ role, cellpadding, cellspacing, border, width = '' }) => [
    ...(role === 'presentation' ? [] : ['no role']),
    ...([cellpadding, cellspacing, border].every((text) => text === '0') ? [] : ['spacing or border']),
    // Outlook reads this attribute.
    ...(width === '100%' || Number(width) <= 600 ? [] : [`width ${width}`]),
  ],
  td: ({ width = '', style = '' }) =>
    width === '' || style.includes(`width:${width}px`) ? [] : ['a width that the style lacks'],
  img: ({ src = '', alt, width = '' }) => [
    ...(alt === undefined ? ['no alt'] : []),
    ...(Number(width) > 0 ? [] : ['no width']),
    ...(isAbsolute(src) ? [] : ['a relative address']),
    // Gmail shows no SVG (image-svg), Outlook no WebP (image-webp), which only this server can change.
    ...(/\.(?:svg|avif)$/.test(src) || /\/pictures\/[0-9a-f]{32}\/\d+$/.test(src) ? ['a format'] : []),
  ],
  a: ({ href = '', rel = '', target }) => [
    ...(isAbsolute(href) ? [] : ['a relative address']),
    ...(rel.includes('sponsored nofollow') && target === '_blank' ? [] : ['no rel or target']),
  ],
}

function isAbsolute(address: string): boolean {
  return /^https?:\/\//.test(address)
}

function toAttributes({ attrs }: Element): Attributes {
  return Object.fromEntries(attrs.map(({ name, value }) => [name, value]))
}

function parseStyle(element: Element): ReadonlyMap<string, string> {
  const declarations = (toAttributes(element)['style'] ?? '').split(';').filter((text) => text !== '')
  return new Map(
    declarations.map((text) => {
      const colon = text.indexOf(':')
      return [text.slice(0, colon), text.slice(colon + 1)]
    }),
  )
}

function checkDeclaration(tagName: string, [property, value]: readonly [string, string]): readonly string[] {
  const rule = PROPERTIES[property]
  const elements = [...(rule?.elements ?? []), ...(rule?.ignored ?? [])]
  return rule !== undefined && rule.value.test(value) && elements.includes(tagName)
    ? []
    : [`<${tagName} style="${property}:${value}">`]
}

/**
 * Check that a text has a font, a size and a colour in its own cell: Outlook does not pass those of an outer cell to a nested table.
 * Check that it is readable on the background.
 */
function checkText(node: DefaultTreeAdapterMap['textNode']): readonly string[] {
  const ancestors = listAncestors(node)
  const cell = ancestors.findIndex(({ tagName }) => tagName === 'td')
  const own = ancestors.slice(0, cell + 1)
  const missing = ['font-family', 'font-size', 'line-height', 'color'].filter(
    (property) => findStyle(property, own) === undefined,
  )
  const ratio = getContrastRatio(
    findStyle('color', own) ?? '',
    findStyle('background-color', ancestors) ?? '',
  )
  return [
    ...missing.map((property) => `text without ${property}: ${node.value}`),
    ...(ratio < MIN_CONTRAST_RATIO ? [`contrast ${ratio.toFixed(1)}: ${node.value}`] : []),
  ]
}

/** Return the value of the innermost element that sets a property. */
function findStyle(property: string, elements: readonly Element[]): string | undefined {
  return elements.map((element) => parseStyle(element).get(property)).find((value) => value !== undefined)
}

/** From the inside out. */
function listAncestors(node: DefaultTreeAdapterMap['childNode']): readonly Element[] {
  const parent = node.parentNode
  return parent !== null && 'tagName' in parent ? [parent, ...listAncestors(parent)] : []
}

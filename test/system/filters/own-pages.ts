import { type DefaultTreeAdapterTypes, parse, parseFragment } from 'parse5'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import { PICTURE_WIDTHS } from '../../../src/offers/pictures.ts'
import { BOX_LAYOUTS, GRID_LAYOUTS } from '../../../src/widgets/option-list.ts'
import { OPTION_LIST } from '../../../src/widgets/option-list.ts'
import type { ServedAddresses } from '../../helpers/built-server.ts'
import type { RequestType } from './filter-lists.ts'

/** A response of our server: a fragment, a frame or a page. */
export type OwnPage = Readonly<{ url: string; kind: 'fragment' | 'frame' | 'page'; html: string }>

/** An address of our server, with the resource type for which a browser requests it. */
export type OwnAddress = Readonly<{ url: string; type: RequestType }>

type PageAddress = Readonly<{ url: string; kind: OwnPage['kind'] }>

/** List both widgets with every layout and option as fragment and as frame, a hidden box, invalid frames, and the studio pages. */
function listPageAddresses({ box, grid, studio, publicUrl }: ServedAddresses): readonly PageAddress[] {
  const widgets = [
    { name: 'where-to-buy', address: box, layouts: BOX_LAYOUTS },
    { name: 'deals', address: grid, layouts: GRID_LAYOUTS },
  ]
  const addresses = widgets.flatMap(({ name, address, layouts }): PageAddress[] => {
    const rows = OPTION_LIST.filter(({ widget }) => widget === 'all' || widget === name)
    const frames = [
      '',
      ...layouts.map((layout) => `layout=${layout}`),
      'locale=ar&accent=ff6600&limit=1',
    ].concat(rows.filter(({ isFragmentOnly }) => isFragmentOnly !== true).map(({ example }) => example))
    const fragments = [...frames, ...rows.map(({ example }) => example)]
    const fragmentAddress = address.replace('/embeds/', '/fragments/')
    return [
      ...frames.map((query) => ({ url: `${address}?${query}`, kind: 'frame' as const })),
      ...fragments.map((query) => ({ url: `${fragmentAddress}?${query}`, kind: 'fragment' as const })),
      { url: `${address}?limit=0`, kind: 'frame' },
    ]
  })
  return [
    ...new Map(addresses.map((address) => [address.url, address])).values(),
    { url: box.replace(/\d+$/, '4006381333931'), kind: 'frame' },
    { url: studio, kind: 'page' },
    { url: `${studio}?layout=inline`, kind: 'page' },
    { url: `${publicUrl}/studio/gallery`, kind: 'page' },
  ]
}

/** Fetch all these pages from the server. */
export async function fetchOwnPages(addresses: ServedAddresses): Promise<readonly OwnPage[]> {
  const pages: OwnPage[] = []
  for (const address of listPageAddresses(addresses)) {
    const response = await fetch(address.url)
    pages.push({ ...address, html: await response.text() })
  }
  return pages
}

/** Resource types of the pages themselves. */
const REQUEST_TYPES_BY_PAGE = {
  fragment: ['xhr', 'fetch'],
  frame: ['sub_frame', 'main_frame'],
  page: ['main_frame'],
} as const satisfies Record<OwnPage['kind'], readonly RequestType[]>

/** Return the distinct addresses of our server: of the pages, in their markup, built by their scripts, and of the loader. */
export function collectAddresses(pages: readonly OwnPage[], publicUrl: string): readonly OwnAddress[] {
  const loaders = ['/embed.js', loadAssets(BUILT_FOLDER).get('embed.js').path]
  const pictures = [
    ...PICTURE_WIDTHS.map((width) => `/pictures/0123456789abcdef0123456789abcdef/${width}`),
    ...['svg', 'png', 'webp'].map((ending) => `/logos/0123456789ab-0123456789ab.${ending}`),
  ]
  const found: OwnAddress[] = [
    ...loaders.map((path) => ({ url: publicUrl + path, type: 'script' as const })),
    // The sample catalog has neither.
    ...pictures.map((path) => ({ url: publicUrl + path, type: 'image' as const })),
  ]
  for (const { url, kind, html } of pages) {
    found.push(...REQUEST_TYPES_BY_PAGE[kind].map((type) => ({ url, type })))
    const elements = listElements(kind === 'fragment' ? parseFragment(html) : parse(html))
    // The snippets of the studio are markup too.
    elements.push(...elements.filter(({ tagName }) => tagName === 'code').flatMap(readSnippet))
    found.push(
      ...elements.flatMap((element) => readAddresses(element)).map((address) => resolve(address, url)),
    )
    found.push(...buildGoAddresses(elements))
  }
  const own = found.filter(({ url }) => url.startsWith(`${publicUrl}/`))
  return [...new Map(own.map((address) => [`${address.type} ${address.url}`, address])).values()]
}

/** Resolve a relative address, as in the studio. */
function resolve(address: OwnAddress, pageUrl: string): OwnAddress {
  try {
    return { ...address, url: new URL(address.url, pageUrl).href }
  } catch {
    return address
  }
}

type Element = DefaultTreeAdapterTypes.Element

function listElements(node: DefaultTreeAdapterTypes.Node): Element[] {
  const children = 'childNodes' in node ? node.childNodes : []
  const inside = 'content' in node ? node.content.childNodes : []
  const below = [...children, ...inside].flatMap(listElements)
  return 'attrs' in node ? [node, ...below] : below
}

function readSnippet(code: Element): readonly Element[] {
  return listElements(
    parseFragment(code.childNodes.map((node) => ('value' in node ? node.value : '')).join('')),
  )
}

const REQUEST_TYPES_BY_ELEMENT: Readonly<Record<string, RequestType>> = {
  a: 'main_frame',
  form: 'main_frame',
  iframe: 'sub_frame',
  img: 'image',
  source: 'image',
  script: 'script',
}

const REQUEST_TYPES_BY_LINK: Readonly<Record<string, RequestType>> = {
  stylesheet: 'stylesheet',
  icon: 'image',
  alternate: 'xhr',
}

function readAddresses(element: Element): readonly OwnAddress[] {
  const { rel = '', href, src, srcset, action } = readAttributes(element)
  const type =
    element.tagName === 'link' ? REQUEST_TYPES_BY_LINK[rel] : REQUEST_TYPES_BY_ELEMENT[element.tagName]
  const fromSet = srcset?.split(',').map((part) => part.trim().split(' ')[0]) ?? []
  const urls = [href, src, action, ...fromSet].filter((url) => url !== undefined)
  if (type === undefined) return []
  return urls.map((url) => ({ url, type }))
}

/** Build the shop links of a sandboxed frame as its script does: the base URL of the document and the path of each link. */
function buildGoAddresses(elements: readonly Element[]): readonly OwnAddress[] {
  const attributes = elements.map((element) => readAttributes(element))
  const base = attributes.find((each) => each['data-vitrine-go'] !== undefined)?.['data-vitrine-go']
  const paths = attributes.map((each) => each['data-go']).filter((address) => address !== undefined)
  return base === undefined ? [] : paths.map((address) => ({ url: `${base}${address}`, type: 'main_frame' }))
}

function readAttributes({ attrs }: Element): Readonly<Record<string, string>> {
  return Object.fromEntries(attrs.map(({ name, value }) => [name, value]))
}

/** Return the classes and data attributes in the selectors of style sheets, also of states that no page has. */
export function readSelectors(
  css: string,
): Readonly<{ classes: readonly string[]; attributes: readonly string[] }> {
  const selectors = css.replace(/\/\*.*?\*\//gs, '').replace(/\{[^{}]*\}/g, '{}')
  const read = (pattern: RegExp): readonly string[] => [
    ...new Set([...selectors.matchAll(pattern)].map(([, name]) => name ?? '')),
  ]
  return { classes: read(/\.([a-z_][\w-]*)/gi), attributes: read(/\[(data-[\w-]+)/g) }
}

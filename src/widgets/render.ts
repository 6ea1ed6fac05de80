import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import { VIEWS_FOLDER } from '../lib/paths.ts'
import type { BoxView, DemoShopView, EmbedView, Frame, GridView, MistakeView } from './view-models.ts'

/** Views to strings. Every method is pure and synchronous; the templates were read and compiled before. */
export type Renderer = Readonly<{
  /** A fragment: first byte `<`, no document tags. */
  renderBox(view: BoxView): string
  /** A fragment: first byte `<`, no document tags. */
  renderGrid(view: GridView): string
  /** A whole document. `view.body` is put in as it is: it must come from `renderBox` or `renderGrid`, or be empty. */
  renderEmbed(view: EmbedView): string
  /** A whole document. */
  renderMistake(view: MistakeView): string
  /** A whole document, of a `StudioView` of the studio. */
  renderStudio(view: object): string
  /** A whole document, of a `GalleryView`; the specimens' HTML is put in as it is: it must come from `renderBox` or `renderGrid`. */
  renderGallery(view: object): string
  /** A whole document. */
  renderDemoShop(view: DemoShopView): string
}>

/** Templates by the name that `include` knows them under. */
const PARTIALS = [
  'box',
  'grid',
  'offers-list',
  'offers-table',
  'offers-button',
  'state',
  'cost',
  'go',
  'deal',
  'price',
  'picture',
  'honesty',
  'links',
  'studio-fields',
  'studio-preview',
  'studio-snippets',
  'studio-deals',
  'studio-health',
  'studio-why',
]

/** Templates of whole answers. */
const PAGES = ['fragment', 'embed', 'mistake', 'studio', 'gallery', 'demo-shop']

/**
 * Reads and compiles every template; throws at once when one is missing or does not compile. Templates that change
 * later are not read again.
 */
export function createRenderer(): Renderer {
  const eta = new Templates({ autoEscape: true, rmWhitespace: true, useWith: false })
  for (const name of PAGES) loadTemplate(eta, name, `${name}.eta`)
  for (const name of PARTIALS) loadTemplate(eta, name, join('partials', `${name}.eta`))

  const renderFragment = (fields: {
    frame: Frame
    kind: string
    view: object
    schema: string | null
  }): string => eta.render('@fragment', fields).trim()

  return {
    renderBox: (view) =>
      renderFragment({ frame: view.frame, kind: 'box', view, schema: toInertSchema(view.schema) }),
    renderGrid: (view) => renderFragment({ frame: view.frame, kind: 'grid', view, schema: null }),
    renderEmbed: (view) => eta.render('@embed', { ...view }),
    renderMistake: (view) => eta.render('@mistake', { ...view }),
    renderStudio: (view) => eta.render('@studio', { ...view }),
    renderGallery: (view) => eta.render('@gallery', { ...view }),
    renderDemoShop: (view) => eta.render('@demo-shop', { ...view }),
  }
}

/** Templates call each other by name: each is a compiled function, and options of a rendering are never read. */
class Templates extends Eta {
  override render = (name: unknown, data: object): string => {
    const template = this.templatesSync.get(String(name))
    if (template === undefined) throw new TypeError(`there is no template "${String(name)}"`)
    return template.call(this, data)
  }
}

function loadTemplate(eta: Eta, name: string, file: string): void {
  const source = readFileSync(join(VIEWS_FOLDER, file), 'utf8')
  eta.loadTemplate(`@${name}`, eta.compile(source))
}

/** JSON stays the same JSON without a raw `<`; nothing in it can then end the script element or open an include. */
function toInertSchema(schema: string | null): string | null {
  return schema === null ? null : schema.replaceAll('<', String.raw`\u003c`)
}

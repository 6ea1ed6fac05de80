import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import { VIEWS_FOLDER } from '../lib/paths.ts'
import type { BoxView, DemoShopView, EmbedView, GridView, ErrorPageView } from './view-models.ts'

/** Renders views to strings. Every method is pure and synchronous. */
export type Renderer = ReturnType<typeof createRenderer>

/** Templates include each other by `@` and the name. The catalog service loads further templates. */
const PAGE_TEMPLATES = ['demo-shop', 'embed', 'fragment', 'gallery', 'error-page', 'studio']
const PARTIAL_TEMPLATES = (
  'box cost deal grid links notices picture price shop-link state offers-button offers-list offers-table ' +
  'studio-deals studio-fields studio-health studio-preview studio-snippets studio-explanation'
).split(' ')

/** Read and compile every template, once. @throws Error when one is missing or does not compile. */
export function createRenderer(viewsFolder: string = VIEWS_FOLDER) {
  const eta = new Templates({ autoEscape: true, rmWhitespace: true, useWith: false })
  for (const name of PAGE_TEMPLATES) eta.load(viewsFolder, name)
  for (const name of PARTIAL_TEMPLATES) eta.load(join(viewsFolder, 'partials'), name)
  return {
    /** A fragment: first byte `<`, no document tags. */
    renderBox(view: BoxView): string {
      const schema = view.schema === null ? null : toInertJson(view.schema)
      return eta.render('@fragment', { kind: 'box', view, schema }).trim()
    },
    /** A fragment: first byte `<`, no document tags. */
    renderGrid: (view: GridView): string =>
      eta.render('@fragment', { kind: 'grid', view, schema: null }).trim(),
    /** A whole document. `view.body` is not escaped: it must come from `renderBox` or `renderGrid`, or be empty. */
    renderEmbed: (view: EmbedView): string => eta.render('@embed', view),
    /** A whole document. */
    renderErrorPage: (view: ErrorPageView): string => eta.render('@error-page', view),
    /** A whole document, from a `StudioView`. */
    renderStudio: (view: object): string => eta.render('@studio', view),
    /** A whole document, from a `GalleryView`. Its examples' HTML is not escaped: it must come from `renderBox` or `renderGrid`. */
    renderGallery: (view: object): string => eta.render('@gallery', view),
    /** A whole document. */
    renderDemoShop: (view: DemoShopView): string => eta.render('@demo-shop', view),
  }
}

class Templates extends Eta {
  load(folder: string, name: string): void {
    const file = join(folder, `${name}.eta`)
    try {
      this.loadTemplate(`@${name}`, this.compile(readFileSync(file, 'utf8')))
    } catch (cause) {
      throw new Error(`The template ${file} is missing or broken. Install this server again.`, { cause })
    }
  }

  override render = (name: unknown, data: object): string => {
    const template = this.templatesSync.get(String(name))
    if (template === undefined) throw new TypeError(`there is no template "${String(name)}"`)
    return template.call(this, data)
  }
}

/** Convert to JSON that is safe in a script element: nothing in it ends the element, opens an include or breaks a line. */
function toInertJson(value: object): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

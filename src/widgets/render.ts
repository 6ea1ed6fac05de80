import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import type { AtomView } from '../events/atom.ts'
import { VIEWS_FOLDER } from '../lib/files.ts'
import type { DealsFeedView } from './grid.ts'
import type { MailView } from './mail.ts'
import type { AnyView, DemoShopView, EmbedView, ErrorPageView, SentenceView } from './view-models.ts'

/** Renders views to strings. All methods are pure and synchronous; the templates are compiled at the start. */
export type Renderer = ReturnType<typeof createRenderer>

/** Templates by name; they include each other as `@name`. */
const PAGE_TEMPLATES = [
  'deals-atom',
  'demo-shop',
  'embed',
  'error-page',
  'events-atom',
  'fragment',
  'gallery',
  'mail',
  'sentence',
  'studio',
]
const PARTIAL_TEMPLATES = (
  'box cost deal facts grid header history inline links logo masthead notices picture price price-chart ' +
  'shop shop-link state text-parts ' +
  'deals-atom-entry mail-button mail-facts mail-offer mail-picture mail-price mail-product ' +
  'link-attributes omitted pick pick-label pick-shops picks picks-rank picks-row picks-table ' +
  'offers-button offers-list offers-table ' +
  'studio-coverage studio-deals studio-feeds studio-fields studio-health studio-preview studio-prices studio-snippets ' +
  'studio-box-list studio-candidates studio-explanation studio-matches studio-picks studio-product'
).split(' ')

/** Read and compile all templates. @throws Error when one is missing or does not compile */
export function createRenderer(viewsFolder: string = VIEWS_FOLDER) {
  const eta = new Templates({ autoEscape: true, rmWhitespace: true, useWith: false })
  for (const name of PAGE_TEMPLATES) eta.load(viewsFolder, name)
  for (const name of PARTIAL_TEMPLATES) eta.load(join(viewsFolder, 'partials'), name)
  return {
    /** A fragment: first byte `<`, no document tags; phrasing content for the layout `inline`. */
    renderWidget(view: AnyView): string {
      const schema = view.kind === 'where-to-buy' && view.schema !== null ? toInertJson(view.schema) : null
      return eta.render('@fragment', { view, schema }).trim()
    },
    /** A document. `view.body` is inserted unescaped: it must come from `renderWidget`, or be empty. */
    renderEmbed: (view: EmbedView): string => eta.render('@embed', view),
    /** A document. */
    renderErrorPage: (view: ErrorPageView): string => eta.render('@error-page', view),
    /** A document; `view` is a `StudioView`. */
    renderStudio: (view: object): string => eta.render('@studio', view),
    /** A document. `view.body` is inserted unescaped: it must come from `renderWidget`, or be empty. */
    renderSentence: (view: SentenceView): string => eta.render('@sentence', view),
    /** A table for a newsletter: first bytes `<table`, no document tags. */
    renderMail: (view: MailView): string => eta.render('@mail', view).trim(),
    /** An Atom feed of deals. */
    renderDealsFeed: (view: DealsFeedView): string => eta.render('@deals-atom', view),
    /** An Atom feed of events. */
    renderAtom: (view: AtomView): string => eta.render('@events-atom', view),
    /** A document; `view` is a `GalleryView`. HTML of examples is inserted unescaped: it must come from `renderWidget`. */
    renderGallery: (view: object): string => eta.render('@gallery', view),
    /** A document. */
    renderDemoShop: (view: DemoShopView): string => eta.render('@demo-shop', view),
  }
}

/** Compile a template to a function; templates include each other by name. */
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

/** Format JSON for a script element: it cannot end the element, open an include or break a line. */
function toInertJson(value: object): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

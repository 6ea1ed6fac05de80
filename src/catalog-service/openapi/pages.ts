import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Eta } from 'eta'
import { CATALOG_STYLE_FILE, VIEWS_FOLDER } from '../../lib/paths.ts'
import { createOpenApiDocument } from './document.ts'
import { toPageView } from './page-view.ts'

/** What is served without a key, as it is sent. */
export type Pages = Readonly<{ document: string; page: string; style: string }>

const TEMPLATES = {
  '@catalog': 'catalog.eta',
  '@catalog-words': join('partials', 'catalog-words.eta'),
  '@catalog-rows': join('partials', 'catalog-rows.eta'),
} as const

/** Makes the document, and the page from it. Throws when a template or the style sheet is missing. */
export function createPages(): Pages {
  const document = createOpenApiDocument()
  const eta = new Eta({ autoEscape: true, rmWhitespace: true, useWith: false })
  for (const [name, file] of Object.entries(TEMPLATES))
    eta.loadTemplate(name, eta.compile(readFileSync(join(VIEWS_FOLDER, file), 'utf8')))
  return {
    document: `${JSON.stringify(document, null, 2)}\n`,
    page: eta.render('@catalog', toPageView(document)),
    style: readFileSync(CATALOG_STYLE_FILE, 'utf8'),
  }
}

import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The package's own folder: `src/` and `dist/` are both one level below it; this file lies one deeper. */
export const PACKAGE_FOLDER: string = fileURLToPath(new URL('../..', import.meta.url))

/** Eta templates. */
export const VIEWS_FOLDER: string = fileURLToPath(new URL('../../views', import.meta.url))

/** The code and the words that make views of data. */
export const WIDGETS_FOLDER: string = fileURLToPath(new URL('../widgets', import.meta.url))

/** The style sheet of the catalog service's page, served as it is written. */
export const CATALOG_STYLE_FILE: string = fileURLToPath(
  new URL('../../public/styles/catalog.css', import.meta.url),
)

/** Built scripts and styles with hashed names, and their manifest (made by `npm run build`). */
export const BUILT_FOLDER: string = fileURLToPath(new URL('../../public/built', import.meta.url))

/** Scripts that a release had, under their hashed names, for ever (`npm run keep` adds the present ones). */
export const KEPT_FOLDER: string = fileURLToPath(new URL('../../public/kept', import.meta.url))

/** The version in package.json. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version

/** Which file lies at a path, whatever its name; `null`: none. */
export function findFileId(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false })
  return file === undefined ? null : `${file.dev} ${file.ino}`
}

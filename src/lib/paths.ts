import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The package's own folder: `src/` and `dist/` are both one level below it; this file lies one deeper. */
export const PACKAGE_FOLDER: string = fileURLToPath(new URL('../..', import.meta.url))

/** Eta templates. */
export const VIEWS_FOLDER: string = join(PACKAGE_FOLDER, 'views')

/** The code and the words that make views of data. */
export const WIDGETS_FOLDER: string = fileURLToPath(new URL('../widgets', import.meta.url))

/** The style sheet of the catalog service's page, served as it is written. */
export const CATALOG_STYLE_FILE: string = join(PACKAGE_FOLDER, 'public/styles/catalog.css')

/** Built scripts and styles with hashed names, and their manifest (made by `npm run build`). */
export const BUILT_FOLDER: string = join(PACKAGE_FOLDER, 'public/built')

/** Scripts that a release had, under their hashed names, for ever (`npm run release:assets` adds the present ones). */
export const RELEASED_FOLDER: string = join(PACKAGE_FOLDER, 'public/released')

/** The version in package.json. */
export const VERSION: string = (
  JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as { version: string }
).version

/** Which file lies at a path, whatever its name; `null`: none. */
export function findFileId(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false })
  return file === undefined ? null : `${file.dev} ${file.ino}`
}

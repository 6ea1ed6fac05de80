import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of package.json: `src/lib/` and `dist/lib/` are two levels below it. */
export const PACKAGE_FOLDER: string = fileURLToPath(new URL('../..', import.meta.url))

export const VIEWS_FOLDER: string = join(PACKAGE_FOLDER, 'views')

/** Configurations of other programs. */
export const DEPLOY_FOLDER: string = join(PACKAGE_FOLDER, 'deploy')

export const COMPOSE_FILE: string = join(PACKAGE_FOLDER, 'compose.yaml')

/** Code and texts that turn data into views. */
export const WIDGETS_FOLDER: string = fileURLToPath(new URL('../widgets', import.meta.url))

/** Rules about offers, which views depend on. */
export const OFFERS_FOLDER: string = fileURLToPath(new URL('../offers', import.meta.url))

/** The mark of the project, also the icon of its pages. */
export const LOGO_FILE: string = join(PACKAGE_FOLDER, 'public/logo.svg')

/** Built scripts and styles with hashed names, and their manifest. Created by `npm run build`. */
export const BUILT_FOLDER: string = join(PACKAGE_FOLDER, 'public/built')

/** Scripts and style sheets of all releases by hashed name. `npm run release:assets` adds the current ones. */
export const RELEASED_FOLDER: string = join(PACKAGE_FOLDER, 'public/released')

export const VERSION: string = (
  JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as { version: string }
).version

/** Return the built file at a path in `dist/`, also when this module runs from `src/`: threads and workers need JavaScript. */
export function toBuiltPath(name: string): string {
  return join(PACKAGE_FOLDER, 'dist', name)
}

/** Return an id of the file at a path (device and inode); `null` if there is no file. */
export function findFileId(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false })
  return file === undefined ? null : `${file.dev} ${file.ino}`
}

/** What to tell the author of a file that `decodeTextFile` cannot read. */
export const NOT_UTF8 = 'not UTF-8 text; save it as UTF-8'

/**
 * Decode a file that a person wrote, without the byte order mark that some editors add. Return `undefined` for UTF-16, other
 * encodings and binary files: a lenient decoder would read other settings than those in the file.
 */
export function decodeTextFile(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes) || bytes.includes(0)) return undefined
  return bytes.toString('utf8').replace(/^\ufeff/, '')
}

import { isUsableLink } from '../../offers/links.ts'
import type { RowTask } from './source-row.ts'

/** Pictures of a product that are kept; boxes show one. */
const MAX_IMAGES = 20

/** Addresses of a column that are looked at. */
const MAX_ADDRESSES = 100

/** Where one address ends and the next begins: commas stand in addresses, too. It begins with the comma, to be fast. */
const BETWEEN = /,(?=\s*https?:\/\/)/i

/** Why a picture is left out. */
export const NO_PICTURE = 'not an absolute http or https address; the picture is left out'

/** Columns of pictures: of `main` the first that is usable, of `more` all, each of which may be a list with commas. */
export type ImageFields = Readonly<{ main: readonly string[]; more: readonly string[] }>

/** The pictures of a row, each once. One that is no address costs only itself, and has a line. */
export function collectImages(task: RowTask, fields: ImageFields): string[] {
  const images = new Set<string>()
  for (const field of fields.main) {
    if (images.size === 0) addImages(task, field, { images, texts: task.row.readAll(field) })
  }
  for (const field of fields.more) {
    const texts = task.row.readAll(field)
    addImages(task, field, { images, texts: task.row.hasLists ? texts.flatMap(splitList) : texts })
  }
  if (images.size <= MAX_IMAGES) return [...images]
  task.refuse(fields.more[0] ?? 'images', `${images.size} pictures; the first ${MAX_IMAGES} are kept`)
  return [...images].slice(0, MAX_IMAGES)
}

/** A list may end in a comma. */
function splitList(text: string): string[] {
  return text
    .split(BETWEEN, MAX_ADDRESSES + 1)
    .map(trimAddress)
    .filter((address) => address !== '')
}

/** Without the commas and white space at its end. By hand, as a pattern would begin anew at each comma. */
function trimAddress(text: string): string {
  let end = text.length
  while (end > 0 && /[\s,]/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).trim()
}

type Adding = Readonly<{ images: Set<string>; texts: readonly string[] }>

function addImages(task: RowTask, field: string, { images, texts }: Adding): void {
  for (const text of texts.slice(0, MAX_ADDRESSES)) {
    if (isUsableLink(text)) images.add(text)
    else task.refuse(field, NO_PICTURE)
  }
  if (texts.length > MAX_ADDRESSES)
    task.refuse(field, `more than ${MAX_ADDRESSES} pictures; the others are left out`)
}

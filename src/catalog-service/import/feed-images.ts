import { isUsableLink } from '../../offers/links.ts'
import type { RowTask } from './source-row.ts'

/** Pictures of a product that are kept; boxes show one. */
const MAX_IMAGES = 20

/** Where one address ends and the next begins: commas stand in addresses, too. It begins with the comma, to be fast. */
const BETWEEN = /,(?=\s*https?:\/\/)/i

/** Columns of pictures: of `main` the first that is usable, of `more` all, each of which may be a list with commas. */
export type ImageFields = Readonly<{ main: readonly string[]; more: readonly string[] }>

/** The pictures of a row, each once. One that is no address costs only itself, and has a line. */
export function collectImages(task: RowTask, fields: ImageFields): string[] {
  const images = new Set<string>()
  for (const field of fields.main) {
    if (images.size === 0) addImages(task, field, { images, texts: task.row.readAll(field) })
  }
  for (const field of fields.more) {
    const texts = task.row
      .readAll(field)
      .flatMap((text) => text.split(BETWEEN).map((address) => address.trim()))
    addImages(task, field, { images, texts })
  }
  if (images.size <= MAX_IMAGES) return [...images]
  task.refuse(fields.more[0] ?? 'images', `${images.size} pictures; the first ${MAX_IMAGES} are kept`)
  return [...images].slice(0, MAX_IMAGES)
}

type Adding = Readonly<{ images: Set<string>; texts: readonly string[] }>

function addImages(task: RowTask, field: string, { images, texts }: Adding): void {
  for (const text of texts) {
    if (isUsableLink(text)) images.add(text)
    else task.refuse(field, 'not an absolute http or https address; the picture is left out')
  }
}

import { PICTURE_WIDTHS } from '../offers/pictures.ts'
import type { ViewContext } from './view-parts.ts'

/** Widths that a browser may choose from: for screens with one, two and three pixels per CSS pixel. */
const MAX_CANDIDATES = 3

/** Build the view of a picture that is at most `widthPx` CSS pixels wide; `null` without a picture. */
export function toPictureView(
  imageUrl: string | null,
  widthPx: number,
  { publicUrl, publishPicture }: Pick<ViewContext, 'publicUrl' | 'publishPicture'>,
) {
  if (imageUrl === null) return null
  const hash = publishPicture?.(imageUrl)
  if (hash === undefined) return { src: imageUrl, srcset: null, sizes: null }
  const address = `${publicUrl}/pictures/${hash}`
  const widths = PICTURE_WIDTHS.filter((width) => width >= widthPx).slice(0, MAX_CANDIDATES)
  return {
    src: `${address}/${widths[0] ?? PICTURE_WIDTHS[0]}`,
    srcset: widths.map((width) => `${address}/${width} ${width}w`).join(', '),
    sizes: `${widthPx}px`,
  }
}

import { PICTURE_WIDTHS } from '../offers/pictures.ts'
import { parseUrl } from '../lib/urls.ts'
import type { BoxLayout } from './option-list.ts'
import type { Surface } from './options.ts'

/** Widths that a browser may choose from: for screens with one, two and three pixels per CSS pixel. */
const CANDIDATES = 3

/** The picture of a box has two sizes, so it needs one more. */
const BOX_CANDIDATES = 4

/** Minimum width of a window in which the picture of a box stands above the title, in 208 instead of 96 px. */
const WIDE_BOX = '(min-width: 820px) 208px'

export type PictureContext = Readonly<{
  /** Absolute, because fragments are part of pages of other sites. */
  publicUrl: string
  /** Return the hash of a picture that this server serves; `undefined`: browsers load it from its own address. */
  publishPicture?: ((imageUrl: string) => string | undefined) | undefined
  /** Absent in the studio. */
  surface?: Surface
}>

/** Build the view of the picture of a box; `null` without a picture. */
export function toBoxPictureView(imageUrl: string | null, layout: BoxLayout, viewContext: PictureContext) {
  if (layout === 'card') return toPictureView(imageUrl, 96, viewContext)
  const view = toPictureView(imageUrl, 96, viewContext, BOX_CANDIDATES)
  return view?.sizes ? { ...view, sizes: `${WIDE_BOX}, ${view.sizes}` } : view
}

/**
 * Return the main picture: the first one. In a newsletter that loads pictures from the shops, the first that is not SVG, because
 * Gmail does not show SVG.
 */
export function findMainImage(
  images: readonly string[],
  { publishPicture, surface }: PictureContext,
): string | null {
  const raster =
    surface === 'mail' && publishPicture === undefined ? images.find((image) => !isSvg(image)) : undefined
  return raster ?? images[0] ?? null
}

/** Whether an address is that of an SVG, by its name. */
export function isSvg(imageUrl: string): boolean {
  return /\.svg$/i.test(parseUrl(imageUrl)?.pathname ?? '')
}

/** Pictures of newsletters are at most half as wide, and JPEG, because Outlook for Windows cannot show WebP. */
const MAIL_PICTURE = '192.jpg'

/** Build the view of a picture that is at most `widthPx` CSS pixels wide; `null` without a picture. */
export function toPictureView(
  imageUrl: string | null,
  widthPx: number,
  { publicUrl, publishPicture, surface }: PictureContext,
  candidates = CANDIDATES,
) {
  if (imageUrl === null) return null
  const hash = publishPicture?.(imageUrl)
  if (hash === undefined) return { src: imageUrl, srcset: null, sizes: null }
  const address = `${publicUrl}/pictures/${hash}`
  if (surface === 'mail') return { src: `${address}/${MAIL_PICTURE}`, srcset: null, sizes: null }
  const widths = PICTURE_WIDTHS.filter((width) => width >= widthPx).slice(0, candidates)
  return {
    src: `${address}/${widths[0] ?? PICTURE_WIDTHS[0]}`,
    srcset: widths.map((width) => `${address}/${width} ${width}w`).join(', '),
    sizes: `${widthPx}px`,
  }
}

import {
  type GalleryOptions,
  type GalleryView,
  parseGallerySelection,
  toGalleryView,
} from '../../src/studio/gallery/gallery.ts'

/** Create the gallery view for a query string; `render` returns the HTML of an example. */
export function makeGalleryView(query: string, render: GalleryOptions['render']): Promise<GalleryView> {
  return toGalleryView({
    publicUrl: 'https://widgets.example',
    stylePath: '/assets/vitrine.css',
    pageStylePath: '/assets/studio.css',
    scriptPath: '/assets/studio.js',
    hasFeeds: true,
    selection: parseGallerySelection(new URLSearchParams(query)),
    render,
  })
}

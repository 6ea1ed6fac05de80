/**
 * Read all pages of the server's gallery. Filters and links between them need a server: the pages of the site have one list of
 * layouts in their place. `path` is the address of a page in the site.
 */
export async function readGallery(capture) {
  const first = await capture('/studio/gallery')
  const layouts = [
    ...first.matchAll(/<option value="((?:where-to-buy|picks|deals)-\w+)"[^>]*>([^<]+)</g),
  ].map(([, id, title]) => ({ id, title }))
  const pages = []
  for (const layout of layouts) pages.push(...(await readLayout(layout, capture)))
  return pages
}

async function readLayout({ id, title }, capture) {
  const pages = []
  let next = `gallery?layout=${id}`
  while (next !== null) {
    const html = await capture(`/studio/${next}`)
    const number = pages.length + 1
    pages.push({
      layout: id,
      title,
      number,
      path: number === 1 ? `gallery/${id}.html` : `gallery/${id}-${number}.html`,
      styles: [...html.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)].map(([, href]) => href),
      html: toStaticCases(html),
    })
    next = /<a class="button" href="(gallery\?[^"]+)">/.exec(html)?.[1].replaceAll('&amp;', '&') ?? null
  }
  return pages.map((page) => ({ ...page, count: pages.length }))
}

/** Return the examples without links to other selections of the gallery. */
function toStaticCases(html) {
  const start = html.indexOf('<section class="cases"')
  const end = html.lastIndexOf('</section>') + '</section>'.length
  return html
    .slice(start, end)
    .replaceAll(/ ?<a href="gallery\?[^"]*">In every layout[\s\S]*?<\/a>/g, '')
    .replaceAll(/(<figcaption class="quiet">)<a href="[^"]*">([\s\S]*?)<\/a>(<\/figcaption>)/g, '$1$2$3')
}

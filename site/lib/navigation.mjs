import { LIVE_PAGES } from './live-options.mjs'

/** Pages that have no Markdown. */
const DECISIONS = {
  path: 'contribute/decisions/index.html',
  title: 'Decisions',
  navigationTitle: 'Decisions',
  description: 'Decision records that still bind, each with its reasons.',
}
const GALLERY = {
  path: 'gallery/index.html',
  title: 'Gallery',
  navigationTitle: 'Gallery',
  description: 'Every layout of boxes, round-ups and deal grids, with every hard case.',
}

/**
 * Sort pages into the groups of navigation.json. A page that is not listed there follows at the end of its group; pages of
 * deeper folders, such as decision records, are not in the navigation.
 */
export function toNavigation(groups, { sources, apis }) {
  const extra = { contribute: [DECISIONS], reference: [...apis, GALLERY] }
  return groups.map(({ id, title, about, pages: order }) => {
    const rank = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length)
    const inGroup = sources.filter(({ group }) => group === id).toSorted((a, b) => rank(a) - rank(b))
    return { id, title, about, pages: [...inGroup.flatMap(withChildren), ...(extra[id] ?? [])] }
  })
}

/** The live options follow the page "Options". */
function withChildren(page) {
  if (page.path !== 'publish/options.html') return [page]
  return [page, ...LIVE_PAGES.map((live) => ({ ...live, isChild: true }))]
}

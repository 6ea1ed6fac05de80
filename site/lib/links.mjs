import { existsSync, statSync } from 'node:fs'
import { posix } from 'node:path'

const IS_EXTERNAL = /^(?:[a-z][a-z0-9+.-]*:|\/\/|#)/i

/**
 * Create the function that turns a link of a Markdown page into an address of the site, absolute from the folder of the
 * version. Links to other files of the repository are collected, address -> file: those in docs/ as `downloads`, others as
 * `shown` files and `folders`.
 *
 * @throws {Error} the linked file does not exist
 */
export function createLinkResolver(rootFolder, pages) {
  const paths = new Map(pages.map(({ source, path }) => [source, path]))
  const downloads = new Map()
  const shown = new Map()
  const folders = new Map()

  const addFile = (file) => {
    const [kind, path] = file.startsWith('docs/')
      ? [downloads, file.slice('docs/'.length)]
      : [shown, `files/${file}.html`]
    kind.set(path, file)
    return path
  }
  const addFolder = (file) => {
    const path = file.startsWith('docs/')
      ? `${file.slice('docs/'.length)}/index.html`
      : `files/${file}/index.html`
    folders.set(path, file)
    return path
  }
  const toPath = (file, source) => {
    const path = paths.get(file)
    if (path !== undefined) return path
    const place = posix.join(rootFolder, file)
    if (!existsSync(place)) throw new Error(`${source}: link to a missing file: ${file}`)
    return statSync(place).isDirectory() ? addFolder(file) : addFile(file)
  }
  const resolveLink = (source, href) => {
    if (IS_EXTERNAL.test(href)) return href
    const [target = '', hash] = href.split('#')
    const file = posix.join(posix.dirname(source), decodeURI(target)).replace(/\/$/, '')
    const path = toPath(file, source)
    // Files are shown as text, without headings.
    return hash === undefined || shown.has(path) ? `/${path}` : `/${path}#${hash}`
  }
  return { resolveLink, addFile, downloads, shown, folders }
}

/** Rewrite addresses that are absolute from the folder of the version to relative ones, so that the site works under any path. */
export function toRelativeLinks(html, path) {
  const toRoot = '../'.repeat(path.split('/').length - 1)
  return html.replaceAll(
    / (href|src|data-root)="\/(?!\/)([^"]*)"/g,
    (_whole, name, rest) => ` ${name}="${toRoot + rest || './'}"`,
  )
}

import { readFile, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'

const LINK = /\]\((?!https?:|#)([^)\s]+)\)/g

/**
 * Resolve all links of the Markdown pages, and read the linked files and folders outside docs/. The site shows them as pages: a
 * static host could run a file, such as one of PHP.
 */
export async function readFiles(rootFolder, sources, links) {
  for (const { source, content } of sources)
    for (const [, href] of content.matchAll(LINK)) links.resolveLink(source, href)
  const folders = await Promise.all(
    [...links.folders]
      .filter(([path]) => path.startsWith('files/'))
      .map(async ([path, folder]) => ({ path, folder, files: await listFolder(rootFolder, folder, links) })),
  )
  const shown = await Promise.all(
    [...links.shown].map(async ([path, file]) => ({
      path,
      file,
      content: await readFile(join(rootFolder, file), 'utf8'),
    })),
  )
  return { folders, shown }
}

async function listFolder(rootFolder, folder, links) {
  const entries = await readdir(join(rootFolder, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) =>
      relative(rootFolder, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'),
    )
    .toSorted()
    .map((file) => ({ file, href: `/${links.addFile(file)}` }))
}

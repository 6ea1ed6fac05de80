import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

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

/** List the files that git does not ignore: results of measurements, for example, stay on the machine. */
async function listFolder(rootFolder, folder, links) {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '--', folder]
  const { stdout } = await promisify(execFile)('git', args, { cwd: rootFolder }).catch((error) => {
    throw new Error(
      `Cannot list the files of ${folder}: build the site in a clone of the repository, with git.`,
      {
        cause: error,
      },
    )
  })
  return stdout
    .split('\0')
    .filter((file) => file !== '' && !basename(file).startsWith('.'))
    .toSorted()
    .map((file) => ({ file, href: `/${links.addFile(file)}` }))
}

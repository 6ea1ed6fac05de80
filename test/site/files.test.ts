import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { makeFolder } from '../cli/run-cli.ts'

type Files = Readonly<{ folders: readonly Readonly<{ files: readonly Readonly<{ file: string }>[] }>[] }>
type Links = Readonly<{ resolveLink: (source: string, href: string) => string }>

const importSite = async (name: string): Promise<unknown> =>
  import(pathToFileURL(join(PACKAGE_FOLDER, 'site/lib', name)).href)

/** Read the files of a page that links the folder `results`, which has a file that git ignores. */
async function readLinkedFiles(folder: string): Promise<Files> {
  mkdirSync(join(folder, 'results'))
  writeFileSync(join(folder, '.gitignore'), '*.json\n')
  for (const name of ['a.md', 'own.json', '.hidden']) writeFileSync(join(folder, 'results', name), 'text')
  const { createLinkResolver } = (await importSite('links.mjs')) as {
    createLinkResolver: (rootFolder: string, pages: readonly unknown[]) => Links
  }
  const { readFiles } = (await importSite('files.mjs')) as {
    readFiles: (rootFolder: string, sources: readonly unknown[], links: Links) => Promise<Files>
  }
  const sources = [{ source: 'README.md', content: '[Results](results)' }]
  return readFiles(folder, sources, createLinkResolver(folder, []))
}

it('files of a linked folder - without those that git ignores', async () => {
  const folder = makeFolder()
  execFileSync('git', ['init', '--quiet'], { cwd: folder })
  const { folders } = await readLinkedFiles(folder)
  expect(folders.flatMap(({ files }) => files.map(({ file }) => file))).toEqual(['results/a.md'])
})

it('files of a linked folder - without a repository - tell to clone it', async () => {
  await expect(readLinkedFiles(makeFolder())).rejects.toThrow(/results: build the site in a clone/)
})

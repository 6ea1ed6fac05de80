/**
 * `npm run site`: build the documentation site into site/out/, in a folder for the version (major.minor) of package.json. Folders of
 * other versions stay. `--out FOLDER` builds elsewhere. SITE_URL, for example https://docs.example/vitrine, adds canonical
 * addresses and a site map; the pages work under any address without it.
 */
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eleventy } from '@11ty/eleventy'
import { build } from 'esbuild'
import { OPTION_LIST } from '../dist/widgets/option-list.js'
import { describeAccepted } from '../dist/widgets/parameters.js'
import { setUpEleventy } from './eleventy.mjs'
import { toApiView } from './lib/api-view.mjs'
import { readFiles } from './lib/files.mjs'
import { readGallery } from './lib/gallery.mjs'
import { createLinkResolver } from './lib/links.mjs'
import { findLayoutExample, renderHomeBox, renderLiveOptions } from './lib/live-options.mjs'
import { startSampleServer } from './lib/sample-server.mjs'
import { readSections } from './lib/search-sections.mjs'
import { toNavigation } from './lib/navigation.mjs'
import { readSources } from './lib/sources.mjs'
import { listVersions } from './lib/versions.mjs'

const ROOT_FOLDER = fileURLToPath(new URL('..', import.meta.url))
const SITE_FOLDER = join(ROOT_FOLDER, 'site')

await buildSite(readOutFolder(process.argv), process.env.SITE_URL?.replace(/\/+$/, '') ?? null)

function readOutFolder(parameters) {
  const index = parameters.indexOf('--out')
  return index < 0 ? join(SITE_FOLDER, 'out') : parameters[index + 1]
}

async function buildSite(outFolder, siteUrl) {
  const { version: fullVersion } = JSON.parse(await readFile(join(ROOT_FOLDER, 'package.json'), 'utf8'))
  const version = fullVersion.split('.').slice(0, 2).join('.')
  const versionFolder = join(outFolder, version)
  const versions = await listVersions(outFolder, version)

  const sources = await readSources(ROOT_FOLDER)
  const links = createLinkResolver(ROOT_FOLDER, sources)
  const sample = await readSampleServer()
  const data = {
    ...sample.data,
    sources,
    siteUrl,
    version,
    fullVersion,
    versions,
    apis: [...sample.apis, await readCatalogApi()],
  }
  const groups = JSON.parse(await readFile(join(SITE_FOLDER, 'navigation.json'), 'utf8'))
  data.navigation = toNavigation(groups, data)
  const files = await readFiles(ROOT_FOLDER, sources, links)
  await rm(versionFolder, { recursive: true, force: true })
  await writePages(outFolder, { ...data, files }, links)

  await Promise.all([
    bundleAssets(join(versionFolder, 'assets')),
    copyFiles(versionFolder, sample.files, links.downloads),
    writeFile(join(outFolder, 'versions.json'), `${JSON.stringify(versions)}\n`),
  ])
  await writeSearchIndex(versionFolder)
  process.stdout.write(`${versionFolder}\n`)
}

/** Render what needs a server: live options, gallery, and the document of its public addresses, if it has one. */
async function readSampleServer() {
  const server = await startSampleServer(ROOT_FOLDER)
  try {
    const { capture, addFile, fetchPath, fetchShown } = server
    const manifest = JSON.parse(await readFile(join(ROOT_FOLDER, 'public/built/manifest.json'), 'utf8'))
    const response = await fetchPath('/openapi.json')
    const data = {
      widgetStyle: await addFile(`/assets/${manifest['vitrine.css'].file}`),
      livePages: await renderLiveOptions({ optionList: OPTION_LIST, describeAccepted, capture, fetchShown }),
      homeBox: await renderHomeBox(capture),
      gallery: await readGallery(capture),
    }
    for (const entry of data.gallery) entry.example = findLayoutExample(data.livePages, entry.layout)
    const styles = data.livePages.flatMap(({ options }) => options.flatMap(({ examples }) => examples))
    for (const example of styles) example.style = await findAccentStyle(example, addFile)
    const apis = response.ok
      ? [toApiPage('openapi', 'HTTP interface', await response.text(), 'reference/openapi.json')]
      : []
    for (const { document, json } of apis) server.files.set(document, Buffer.from(json))
    return { data, files: server.files, apis }
  } finally {
    await server.stop()
  }
}

/** An accent has its own style sheet, which fragments with `css=none` leave to the page. */
async function findAccentStyle({ query }, addFile) {
  const [, hex] = /^accent=(\w+)$/.exec(query) ?? []
  return hex === undefined ? null : addFile(`/accents/${hex}.css`)
}

async function readCatalogApi() {
  const json = await readFile(join(ROOT_FOLDER, 'docs/operate/openapi.json'), 'utf8')
  return toApiPage('catalog-openapi', 'Catalog interface', json, 'operate/openapi.json')
}

function toApiPage(name, navigationTitle, json, document) {
  const view = toApiView(JSON.parse(json))
  return {
    path: `reference/${name}.html`,
    title: navigationTitle,
    navigationTitle,
    description: `${navigationTitle}: every operation, parameter, field and status.`,
    document,
    json,
    view,
  }
}

async function writePages(outFolder, data, links) {
  const eleventy = new Eleventy(join(SITE_FOLDER, 'pages'), outFolder, {
    quietMode: true,
    config: (config) => setUpEleventy(config, data, links),
  })
  await eleventy.init()
  await eleventy.write()
}

async function bundleAssets(folder) {
  await build({
    entryPoints: ['browser/site.ts', 'browser/theme.ts', 'styles/site.css', 'styles/gallery.css'].map(
      (file) => join(SITE_FOLDER, file),
    ),
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    target: 'es2022',
    legalComments: 'eof',
    logLevel: 'warning',
  })
  await cp(join(ROOT_FOLDER, 'public/logo.svg'), join(folder, 'logo.svg'))
}

async function copyFiles(versionFolder, contents, downloads) {
  const write = async (path, content) => {
    await mkdir(dirname(join(versionFolder, path)), { recursive: true })
    await writeFile(join(versionFolder, path), content)
  }
  await Promise.all([
    ...[...contents].map(([path, content]) => write(path, content)),
    ...[...downloads].map(async ([path, file]) => write(path, await readFile(join(ROOT_FOLDER, file)))),
  ])
}

/** Read the sections of the written pages, so that everything a reader sees can be found. */
async function writeSearchIndex(versionFolder) {
  const files = (await readdir(versionFolder, { recursive: true }))
    .map((file) => file.replaceAll('\\', '/'))
    .filter(
      (file) => file.endsWith('.html') && !/^(?:files|widget|sample-shop\.html|gallery\/.+-)/.test(file),
    )
  const pages = await Promise.all(
    files.toSorted().map(async (path) => {
      const sections = readSections(await readFile(join(versionFolder, path), 'utf8'))
      return { path, title: sections[0]?.heading ?? '', sections }
    }),
  )
  await writeFile(
    join(versionFolder, 'search.json'),
    JSON.stringify(pages.filter(({ title }) => title !== '')),
  )
}

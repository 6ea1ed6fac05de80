import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SOURCE_FOLDER = fileURLToPath(new URL('../src', import.meta.url))

/** Layers from low to high. A file imports only from its own layer and lower ones. Top-level files are listed by name. */
const LAYERS = [
  ['lib', 'clock.ts', 'errors.ts'],
  ['offers'],
  ['config'],
  ['outgoing'],
  ['observability'],
  ['command.ts', 'database'],
  ['catalog'],
  ['storage'],
  ['coverage', 'events'],
  ['freshness'],
  ['sync'],
  ['pictures'],
  ['widgets'],
  ['http'],
  ['caches.ts', 'context.ts', 'server-status.ts'],
  ['explain'],
  ['studio'],
  ['routes'],
  ['app.ts'],
  ['cluster', 'catalog-service'],
  ['cli'],
  ['main.ts'],
  ['bin.ts'],
]

/** Self-contained folders, each with the list of what it may import. */
const SELF_CONTAINED_FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'catalog-service': [
    'lib',
    'clock.ts',
    'errors.ts',
    'offers',
    'config',
    'outgoing',
    'observability',
    'command.ts',
    'database',
    'http',
  ],
  browser: [],
  cluster: LAYERS.flat().filter((name) => !['catalog-service', 'cli', 'main.ts'].includes(name)),
}

/** What the widget server and the catalog service tell one another. */
const CONTRACT: ReadonlySet<string> = new Set(['catalog/contract.ts', 'catalog/feed-report.ts'])

const imports = listFiles().flatMap((file) =>
  [...readSource(file).matchAll(/\bfrom '(\.[^']+)'/g)].map(([, path = '']) => ({
    from: file,
    to: normalize(join(dirname(file), path)),
  })),
)

function readSource(file: string): string {
  return readFileSync(join(SOURCE_FOLDER, file), 'utf8')
}

function listFiles(): readonly string[] {
  return readdirSync(SOURCE_FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  )
}

const toModule = (file: string): string => file.split('/')[0] ?? file

function isAllowed(from: string, to: string): boolean {
  const [importer, imported] = [toModule(from), toModule(to)]
  if (importer === imported || (importer === 'catalog-service' && CONTRACT.has(to))) return true
  const allowedImports = SELF_CONTAINED_FOLDERS[importer]
  if (allowedImports !== undefined) return allowedImports.includes(imported)
  return findLayer(imported) <= findLayer(importer)
}

const findLayer = (module: string): number => LAYERS.findIndex((names) => names.includes(module))

test('every folder and top-level file of src - is in a layer', () => {
  const modules = new Set(listFiles().map(toModule))
  expect(
    [...modules].filter((module) => findLayer(module) < 0 && !(module in SELF_CONTAINED_FOLDERS)),
  ).toEqual([])
})

test('imports, including type imports - lead to the same layer or a lower one', () => {
  expect(
    imports.filter(({ from, to }) => !isAllowed(from, to)).map(({ from, to }) => `${from} -> ${to}`),
  ).toEqual([])
})

/** Files outside `database/` that may ask for the engine, with the reason. */
const ENGINE_BRANCHES: Readonly<Record<string, string>> = {
  'storage/search.ts': 'full-text search: FTS5, tsvector',
  'storage/search-index.ts': 'full-text search: FTS5',
  'storage/walks.ts': 'indexes of deals that SQLite builds after the first walk',
  'storage/deal-filters.ts': 'plans of grids: SQLite finds ended sales in their own index',
  'storage/deals.ts': 'plans of grids: PostgreSQL expects too many matches of a rare filter',
  'storage/event-detection.ts': 'SQLite skips the rows of a product in the index',
  'storage/quota.ts': 'lock of the quota: SQLite has only one writer',
  'storage/long-reads.ts': 'time limit of a grid: SQLite checks it within the statement',
}

test('questions for the engine - are in database/ and in the listed files only', () => {
  const files = listFiles().filter((file) => !file.startsWith('database/'))
  expect(files.filter((file) => readSource(file).includes('isPostgres(')).toSorted()).toEqual(
    Object.keys(ENGINE_BRANCHES).toSorted(),
  )
})

test('statements - are SQL text, not built by a query builder', () => {
  const builder = /\.(?:selectFrom|insertInto|updateTable|deleteFrom)\(/
  expect(listFiles().filter((file) => builder.test(readSource(file)))).toEqual([])
})

test('imports, including type imports - have no cycle', () => {
  expect(findCycle()).toEqual([])
})

/** Return the files of one import cycle, or an empty list. */
function findCycle(): readonly string[] {
  const targets = groupImports()
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): readonly string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return []
    for (const to of targets.get(file) ?? []) {
      const cycle = visit(to, [...path, file])
      if (cycle.length > 0) return cycle
    }
    done.add(file)
    return []
  }
  for (const file of targets.keys()) {
    const cycle = visit(file, [])
    if (cycle.length > 0) return cycle
  }
  return []
}

function groupImports(): ReadonlyMap<string, readonly string[]> {
  const targets = new Map<string, string[]>()
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to])
  return targets
}

import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { VitrineError } from '../../src/errors.ts'
import { startFeedServer } from '../catalog-service/commands/feed-command.ts'
import {
  type TestCommand,
  createTestCommand,
  runCatalogCommand,
} from '../catalog-service/commands/test-command.ts'
import { CHANNEL, type Case, OTHER_CHANNEL, type Step } from './import-case.ts'
import { CASES } from './import-cases.ts'
import { type Row, readSqliteFile, toSortedLines } from './sqlite-file.ts'

// Record for "One of each": what `vitrine catalog import` prints, rejects and stores for a feed of each kind, and what changes
// when the file does. Full dumps of large imports: RECORD_BODIES=<folder>.

const MAX_LINES = 100
const MAX_CHARACTERS = 160
const BRIEF_LINES = 2

/** Longer lines of the output are written in full only where they appear first. */
const MAX_REPEATED_CHARACTERS = 60

/** Tables of migrations are history, and `is_migrated` is for feeds of an earlier build. */
const IGNORED_TABLES = /migration|^sqlite_/
const IGNORED_COLUMNS: ReadonlySet<string> = new Set(['is_migrated'])

/** Replace what differs between machines. Digests and ids become numbers: only their equality counts. */
function createNormalizer(folder: string, serverUrl: string): (text: string) => string {
  const numbers = new Map<string, string>()
  const toNumber = (text: string): string => {
    const known = numbers.get(text) ?? `#${numbers.size + 1}`
    numbers.set(text, known)
    return known
  }
  return (text) =>
    text
      .replaceAll(folder, '<folder>')
      .replaceAll(serverUrl, '<server>')
      .replaceAll(/(?!952a)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, toNumber)
      .replaceAll(/\b(?:source|\w+_digest)="[^"]*"/g, (pair) => {
        const [name = '', digest = ''] = pair.split('=')
        return `${name}=${toNumber(digest)}`
      })
}

type Dump = ReadonlyMap<string, readonly string[]>

const readTables = (path: string): Readonly<Record<string, readonly Row[]>> =>
  readSqliteFile(path, (select) =>
    Object.fromEntries(
      select(`select name from sqlite_master where type = 'table' order by name`)
        .map(({ name }) => String(name))
        .filter((name) => !IGNORED_TABLES.test(name))
        .map((name) => [name, select(`select * from "${name}"`)]),
    ),
  )

function toPairs(row: Row): readonly string[] {
  return Object.keys(row)
    .filter((name) => row[name] !== null && !IGNORED_COLUMNS.has(name))
    .toSorted()
    .map((name) => `${name}=${JSON.stringify(row[name])}`)
}

/** Read what imports store, by table. */
function readDump(folder: string, normalize: (text: string) => string): Dump {
  const files = ['catalog.db', 'catalog-usage.db'].map((name) => join(folder, name))
  const tables = files.filter((path) => existsSync(path)).flatMap((path) => Object.entries(readTables(path)))
  return new Map(
    tables.map(([name, rows]) => [
      name,
      // Numbers are given in the order of the sorted rows, so digests must not decide it.
      toSortedLines(rows.map((row) => toPairs(row).join('\t'))).map(normalize),
    ]),
  )
}

/** Columns that are equal in all rows are written once. */
function describeRows(sign: string, table: string, lines: readonly string[]): readonly string[] {
  const rows = lines.map((line) => line.split('\t'))
  const [first = [], ...others] = rows
  const shared = new Set(
    others.length < 2 ? [] : first.filter((pair) => others.every((row) => row.includes(pair))),
  )
  const head =
    shared.size === 0 ? [] : [`${sign} ${table}, ${lines.length} rows with ${[...shared].join(' ')}`]
  const start = shared.size === 0 ? `${sign} ${table}` : `${sign}  `
  return [...head, ...rows.map((row) => [start, ...row.filter((pair) => !shared.has(pair))].join(' '))]
}

/** List the rows that a step removed and added. */
function describeChanges(before: Dump, after: Dump): readonly string[] {
  return [...after].flatMap(([table, lines]) => {
    const old = before.get(table) ?? []
    const removed = old.filter((line) => !lines.includes(line))
    const added = lines.filter((line) => !old.includes(line))
    return [...describeRows('-', table, removed), ...describeRows('+', table, added)]
  })
}

function shorten(name: string, lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LINES) return lines
  const text = lines.join('\n')
  // oxlint-disable-next-line node/no-process-env -- where a developer wants the files, not a setting
  const folder = process.env['RECORD_BODIES']
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${name.replaceAll(/\W+/g, '-')}.txt`), text)
  }
  return [
    ...lines.slice(0, 4),
    `… ${lines.length} lines, SHA-256 ${createHash('sha256').update(text).digest('hex')}`,
  ]
}

/** Read the rejected rows beside the file; the rest of a long one only counts by its length. */
function readRejects(folder: string, file: string | undefined): readonly string[] {
  const path = join(folder, `${file}.rejects`)
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) =>
    line.length > MAX_CHARACTERS ? `x ${line.slice(0, MAX_CHARACTERS)}… ${line.length}` : `x ${line}`,
  )
}

async function runStep(
  under: TestCommand,
  { file, args, isBrief }: Step,
  serverUrl: string,
): Promise<readonly string[]> {
  const { folder, out, err } = under
  const path = join(folder, file ?? '')
  out.length = 0
  err.length = 0
  const isJson = args.includes('--json')
  const words = args.filter((arg) => arg !== '--json')
  const command = isJson ? { ...under, context: { ...under.context, isJson } } : under
  const filled = words.map((arg) =>
    arg.replace('{file}', path).replace('{folder}', folder).replace('{server}', serverUrl),
  )
  const end = await runCatalogCommand(command, ...filled).then(
    (code) => (code === 0 ? [] : [`! exit code ${code}`]),
    (error: unknown) => {
      if (error instanceof VitrineError) return [`! ${error.code}: ${error.message}`]
      throw error
    },
  )
  const lines = [...err.flatMap((text) => text.trimEnd().split('\n')), ...out, ...end]
  return (isBrief ? lines.slice(0, BRIEF_LINES) : lines).map((line) => `> ${line}`)
}

const isTemplateFile = (name: string): boolean => name.startsWith('catalog')

/** A catalog with one channel, which each case continues. */
async function createTemplate(): Promise<string> {
  const under = createTestCommand()
  const url = 'https://magazine.example'
  await runCatalogCommand(under, 'channels', 'add', 'Magazine', '--id', CHANNEL, '--url', url)
  return under.folder
}

type Recorder = Readonly<{
  template: string
  seen: Set<string>
  server: Awaited<ReturnType<typeof startFeedServer>>
}>

async function recordCase({ name, steps }: Case, { template, seen, server }: Recorder): Promise<string> {
  const under = createTestCommand()
  const { folder } = under
  for (const file of readdirSync(template).filter(isTemplateFile))
    copyFileSync(join(template, file), join(folder, file))
  const normalize = createNormalizer(folder, server.url)
  const abbreviate = (line: string): string => {
    if (line.length <= MAX_REPEATED_CHARACTERS || !seen.has(line)) return line
    return `${line.slice(0, MAX_REPEATED_CHARACTERS)}…`
  }
  const lines: string[] = [`## ${name}`]
  let dump = readDump(folder, normalize)
  for (const [index, step] of steps.entries()) {
    const { file, content, args } = step
    if (file !== undefined && content !== undefined) writeFileSync(join(folder, file), content)
    if (step.served !== undefined) server.serve(step.served)
    if (args.length === 0) continue
    lines.push(`$ ${args.join(' ').replaceAll(CHANNEL, 'A').replaceAll(OTHER_CHANNEL, 'B')}`)
    const output = (await runStep(under, step, server.url)).map(normalize)
    const after = readDump(folder, normalize)
    const rejects = args[0] === 'import' ? readRejects(folder, file) : []
    const changes = [...rejects.map(normalize), ...describeChanges(dump, after)]
    lines.push(...output.map(abbreviate), ...shorten(`${name} ${index}`, changes))
    for (const line of output) seen.add(line)
    dump = after
  }
  return `${lines.join('\n')}\n`
}

it('feed of each kind - output, rejects and stored rows are as recorded', async () => {
  const recorder: Recorder = {
    template: await createTemplate(),
    seen: new Set(),
    server: await startFeedServer(''),
  }
  const records: string[] = []
  for (const single of CASES) records.push(await recordCase(single, recorder))
  await expect(records.join('\n')).toMatchFileSnapshot('imports.txt')
})

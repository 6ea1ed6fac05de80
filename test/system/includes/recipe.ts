import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

const readPage = (name: string): string => readFileSync(join(PACKAGE_FOLDER, 'docs/publish', name), 'utf8')

/** The page with most recipes, which the tests run verbatim. */
export const PAGE: string = readPage('embedding.md')

const RESULTS: string = readFileSync(join(PACKAGE_FOLDER, 'bench/results/includes.md'), 'utf8')

/**
 * A code block of a page in docs/publish, by default of embedding.md. `index` counts the blocks of this language below the
 * heading.
 */
export type CodeBlockLocation = Readonly<{ page?: string; heading: string; language: string; index?: number }>

/** A replacement in a recipe, only for addresses, ports and folders. */
export type Substitution = readonly [from: string, to: string]

/** Return a code block with its addresses replaced. Throws if the block or one of the texts is missing. */
export function readRecipe(location: CodeBlockLocation, substitutions: readonly Substitution[] = []): string {
  const blocks = listBlocks(location)
  const found = blocks[location.index ?? 0]
  if (found === undefined)
    throw new Error(
      `docs/publish/${location.page ?? 'embedding.md'} has no ${location.language} block ${location.index ?? 0} below "${location.heading}"`,
    )
  return substitutions.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the recipe below "${location.heading}" has no "${from}"`)
    return text.replaceAll(from, to)
  }, found)
}

/** List the headings of the page, without "#". */
export function listHeadings(): readonly string[] {
  return PAGE.split('\n').flatMap((line) => /^#{1,6} (.+)$/.exec(line)?.[1] ?? [])
}

/** A table: cells by the text of the first column and the heading of the column. */
export type Table = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Read the first table below a heading of the results page. */
export function readTable(heading: string): Table {
  const lines = readSection(RESULTS, heading).split('\n')
  const start = lines.findIndex((line) => line.startsWith('|'))
  if (start === -1) throw new Error(`bench/results/includes.md has no table below "${heading}"`)
  const rest = lines.slice(start)
  const end = rest.findIndex((line) => !line.startsWith('|'))
  const [head = [], , ...rows] = rest.slice(0, end === -1 ? undefined : end).map(toCells)
  return new Map(
    rows.map((row) => [row[0] ?? '', new Map(head.map((name, index) => [name, row[index] ?? '']))]),
  )
}

function toCells(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll(/[`*]/g, ''))
}

/** Return the text from a heading to the next one of any level. */
function readSection(page: string, heading: string): string {
  const lines = page.split('\n')
  const start = lines.findIndex((line) => /^#{1,6} /.test(line) && line.replace(/^#+ /, '') === heading)
  if (start === -1) throw new Error(`the page has no heading "${heading}"`)
  let isCode = false
  const end = lines.findIndex((line, index) => {
    if (index <= start) return false
    if (line.startsWith('```')) isCode = !isCode
    return !isCode && /^#{1,6} /.test(line)
  })
  return lines.slice(start + 1, end === -1 ? undefined : end).join('\n')
}

function listBlocks({ page, heading, language }: CodeBlockLocation): readonly string[] {
  return [
    ...readSection(page === undefined ? PAGE : readPage(page), heading).matchAll(
      /^```(\S+)\n([\s\S]*?)^```$/gm,
    ),
  ]
    .filter(([, name]) => name === language)
    .map(([, , text = '']) => text)
}

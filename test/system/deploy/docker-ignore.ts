import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

type Rule = Readonly<{ isIncluded: boolean; pattern: RegExp }>

const RULES: readonly Rule[] = readFileSync(join(PACKAGE_FOLDER, '.dockerignore'), 'utf8')
  .split('\n')
  .map((line) => line.trim())
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map(toRule)

/** Does `.dockerignore` include this path? The last rule that matches the path or a parent folder applies. */
export function isIncluded(path: string): boolean {
  return RULES.findLast(({ pattern }) => pattern.test(path))?.isIncluded ?? true
}

/** Parse a rule. `*` matches within a name; a folder includes its content. Throws at other wildcards. */
function toRule(line: string): Rule {
  const text = line.replace(/^!/, '')
  if (/[?[\]\\]|\*\*/.test(text)) throw new Error(`unsupported pattern: "${line}"`)
  const escaped = text.replaceAll(/[.+^${}()|]/g, String.raw`\$&`).replaceAll('*', '[^/]*')
  return { isIncluded: line.startsWith('!'), pattern: new RegExp(`^${escaped}(?:/|$)`) }
}

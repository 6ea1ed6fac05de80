import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

type Rule = Readonly<{ isIncluded: boolean; pattern: RegExp }>

const RULES: readonly Rule[] = readFileSync(join(PACKAGE_FOLDER, '.dockerignore'), 'utf8')
  .split('\n')
  .map((line) => line.trim())
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map(toRule)

/** Does `.dockerignore` let this path of the repository through? The last rule that is about it, or a folder above, holds. */
export function isIncluded(path: string): boolean {
  return RULES.findLast(({ pattern }) => pattern.test(path))?.isIncluded ?? true
}

/** `*` within a name; a rule about a folder is one about everything in it. Other signs are not followed here. */
function toRule(line: string): Rule {
  const text = line.replace(/^!/, '')
  if (/[?[\]\\]|\*\*/.test(text)) throw new Error(`nobody here knows how to follow "${line}"`)
  const escaped = text.replaceAll(/[.+^${}()|]/g, String.raw`\$&`).replaceAll('*', '[^/]*')
  return { isIncluded: line.startsWith('!'), pattern: new RegExp(`^${escaped}(?:/|$)`) }
}

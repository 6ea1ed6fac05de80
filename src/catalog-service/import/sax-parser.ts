import { SaxesParser } from 'saxes'
import { ImportError } from '../../errors.ts'
import { findNamedCharacter } from './feed-text.ts'

export type SaxParser = ReturnType<typeof createSaxParser>

/** Create a strict parser that tolerates two common errors of real feeds: undeclared prefixes and HTML entities. */
export function createSaxParser(file: string) {
  const parser = new SaxesParser({ xmlns: true, resolvePrefix } as const)
  parser.ENTITIES = new Proxy(parser.ENTITIES, {
    get: (_entities, name) => findNamedCharacter(String(name)),
  })
  parser.on('doctype', (text) => {
    if (text.includes('['))
      throw new ImportError(
        `${file} has a document type with declarations (<!DOCTYPE … [), which is not supported`,
      )
  })
  return parser
}

function resolvePrefix(prefix: string): string {
  return prefix === 'g' || prefix === 'G' ? 'http://base.google.com/ns/1.0' : `undeclared:${prefix}`
}

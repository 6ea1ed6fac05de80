import { SaxesParser } from 'saxes'

/** Texts by name of the element. */
export type AtomEntry = Readonly<Record<string, string>>

type Entry = Record<string, string>

/**
 * Read a feed with a strict parser of XML 1.0. A `link` has its address as text, a `category` its term.
 * @throws Error when it is not well-formed
 */
export function readAtom(
  xml: string,
): Readonly<{ feed: Entry; entries: readonly Entry[]; problems: readonly string[] }> {
  const parser = new SaxesParser({ xmlns: true })
  const feed: Entry = {}
  const entries: Entry[] = []
  const problems: string[] = []
  const path: string[] = []
  let text = ''
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (uri !== 'http://www.w3.org/2005/Atom') problems.push(`element ${local} of ${uri}`)
    if (path.at(-1) === 'feed' && local === 'entry') entries.push({})
    else if (entries.length > 0 && path.length === 1) problems.push(`${local} after an entry`)
    const values = Object.fromEntries(Object.values(attributes).map((one) => [one.local, one.value]))
    path.push(local === 'link' && values['rel'] === 'self' ? 'self' : local)
    text = values['href'] ?? values['term'] ?? ''
  })
  parser.on('text', (more) => (text += more))
  parser.on('closetag', () => {
    const name = path.pop() ?? ''
    const owner = path.includes('entry') ? (entries.at(-1) ?? {}) : feed
    if (path.length === 1 || path.at(-1) === 'entry') {
      if (name in owner) problems.push(`${name} twice`)
      if (name !== 'entry') owner[name] = text
    }
  })
  parser.write(xml).close()
  return { feed, entries, problems }
}

/**
 * Check the rules of RFC 4287 for the elements that our feeds use, and those of the caller for entries. Return the problems.
 */
export function findAtomProblems(
  xml: string,
  entryRules: Readonly<Record<string, RegExp>>,
): readonly string[] {
  const { feed, entries, problems } = readAtom(xml)
  const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
  const address = /^https:\/\/[a-z.]+\/[!-~]*$/
  const common = { title: /./, updated: dateTime, link: address }
  return [
    ...problems,
    ...findMismatches('feed', feed, {
      ...common,
      link: /^$|^https:/,
      id: address,
      self: address,
      author: /^/,
    }),
    ...entries.flatMap((entry) =>
      findMismatches('entry', entry, {
        ...common,
        id: /^urn:uuid:[0-9a-f-]{36}$/,
        content: /./,
        ...entryRules,
      }),
    ),
    ...(new Set(entries.map(({ id }) => id)).size === entries.length ? [] : ['an id twice']),
  ]
}

function findMismatches(
  name: string,
  entry: AtomEntry,
  rules: Readonly<Record<string, RegExp>>,
): readonly string[] {
  return Object.entries(rules).flatMap(([key, rule]) =>
    rule.test(entry[key] ?? '') ? [] : [`${name}: ${key} is ${JSON.stringify(entry[key])}`],
  )
}

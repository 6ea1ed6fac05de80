import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { OPTION_LIST, type OptionDefinition } from '../../src/widgets/option-list.ts'
import { OPTION_PARSERS } from '../../src/widgets/options.ts'
import { type OptionControl, describeAccepted, isRepeatable } from '../../src/widgets/parameters.ts'

/** scripts/option-files.mjs */
type OptionFiles = Readonly<{
  createOptionFiles(folder: URL, options: object): Promise<readonly (readonly [string, string])[]>
}>

const DEFAULTS = { locale: 'en', currency: null }

/** Records the parameters that a parser reads. */
class WatchedQuery extends URLSearchParams {
  readonly readNames = new Set<string>()
  override getAll(name: string): string[] {
    this.readNames.add(name)
    return super.getAll(name)
  }
}

type Widget = 'where-to-buy' | 'picks' | 'deals'

const parse = (widget: Widget, query: URLSearchParams, surface: 'fragment' | 'embed' = 'fragment'): object =>
  OPTION_PARSERS[widget](query, DEFAULTS, surface)

const listWidgets = ({ widget }: OptionDefinition): readonly Widget[] =>
  widget === 'all' ? ['where-to-buy', 'picks', 'deals'] : [widget]

const rows = OPTION_LIST.flatMap((row) => listWidgets(row).map((widget) => [widget, row.name, row] as const))

describe('list of options', () => {
  test('files that name the options - are as "npm run docs" writes them', async () => {
    const { createOptionFiles } = (await import(
      pathToFileURL(join(PACKAGE_FOLDER, 'scripts/option-files.mjs')).href
    )) as OptionFiles
    const files = await createOptionFiles(pathToFileURL(`${PACKAGE_FOLDER}/`), { OPTION_LIST, isRepeatable })
    expect(files.length).toBeGreaterThan(0)
    for (const [file, text] of files)
      expect(await readFile(join(PACKAGE_FOLDER, file), 'utf8'), file).toBe(text)
  })

  test('documentation - has a row for each option', async () => {
    const page = await readFile(new URL('../../docs/publish/options.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name)
    expect(documented).toHaveLength(OPTION_LIST.length)
    expect(new Set(documented)).toEqual(new Set(OPTION_LIST.map(({ name }) => name)))
  })

  test.each(['where-to-buy', 'picks', 'deals'] as const)(
    '%s - lists exactly the parameters that its parser reads',
    (widget) => {
      const query = new WatchedQuery()
      parse(widget, query)
      const listed = rows.filter(([listedFor]) => listedFor === widget).map(([, name]) => name)
      expect(new Set(listed)).toEqual(query.readNames)
      expect(new Set(listed).size).toBe(listed.length)
    },
  )

  test.each(rows)('%s, %s - the example is valid and changes an option', (widget, name, row) => {
    const query = new URLSearchParams(row.example)
    expect([...new Set(query.keys())]).toEqual([name])
    const plain = parse(widget, new URLSearchParams())
    // `stock=in` is the default of grids.
    const isDefault = widget === 'deals' && row.example === 'stock=in'
    expect(JSON.stringify(parse(widget, query)) === JSON.stringify(plain)).toBe(isDefault)
  })

  test.each(rows)(
    '%s, %s - an invalid value is rejected with the description of the list',
    (widget, name, row) => {
      const bad = new URLSearchParams({ [name]: '\u0001'.repeat(101) })
      const accepted = describeAccepted(row.control)
      const rejection = { publicMessage: `The parameter "${name}" accepts ${accepted}.` }
      expect(() => parse(widget, bad)).toThrow(expect.objectContaining(rejection))
    },
  )

  test.each(rows)('%s, %s - has no effect in a frame if it is fragment-only', (widget, _name, row) => {
    const plain = JSON.stringify(parse(widget, new URLSearchParams(), 'embed'))
    const changed = JSON.stringify(parse(widget, new URLSearchParams(row.example), 'embed'))
    const isDefault = widget === 'deals' && row.example === 'stock=in'
    expect(changed === plain).toBe(row.isFragmentOnly === true || isDefault)
  })

  test.each(rows)('%s, %s - its explicit default changes nothing', (widget, name, row) => {
    const [, value] = /^(?:`([a-z]+)`|\d+)$/.exec(row.defaultText) ?? []
    const written = value ?? row.defaultText
    const query = new URLSearchParams(/^[a-z]+$|^\d+$/.test(written) ? { [name]: written } : {})
    const isText = row.control === 'text' || row.control === 'shops' || row.defaultText === 'none'
    const plain = parse(widget, new URLSearchParams())
    expect(parse(widget, isText ? new URLSearchParams() : query)).toEqual(plain)
  })
})

const accepts = (widget: Widget, name: string, value: string): boolean => {
  try {
    parse(widget, new URLSearchParams({ [name]: value }))
    return true
  } catch {
    return false
  }
}

/** Valid and invalid values by kind of text. */
const KINDS = {
  text: { good: ['a', 'x'.repeat(100)], bad: ['x'.repeat(101)] },
  heading: { good: ['a', 'x'.repeat(80)], bad: ['x'.repeat(81), 'a\nb'] },
  color: { good: ['ff6600', 'FF6600'], bad: ['#ff6600', 'f60', 'red'] },
  language: { good: ['en', 'de-AT', 'ar'], bad: ['english please', '1'] },
  currency: { good: ['EUR', 'gbp'], bad: ['XXY', '€'] },
  price: { good: ['49.99', '1'], bad: ['0', '-1', '1,5'] },
  sub: { good: ['p123', 'A_b-9'.repeat(6)], bad: ['a b', 'x'.repeat(33), 'é', ''] },
  labels: { good: ['Best overall', '', 'x'.repeat(40)], bad: ['x'.repeat(41), 'a\nb'] },
  gtins: { good: ['1', '9520001001031,9520001001048'], bad: ['x', '1,,2', '1,2,3,4,5,6', '1 '] },
  shops: { good: ['Kopje', 'A & B'], bad: [' ', 'x'.repeat(101)] },
} as const

/** List values that a control offers, and invalid ones. */
function listTries(control: OptionControl): Readonly<{ good: readonly string[]; bad: readonly string[] }> {
  if (typeof control === 'string') return KINDS[control]
  if (!('min' in control)) return { good: control, bad: [`${control.join('')}x`, ''] }
  const { min, max } = control
  return { good: [min, max].map(String), bad: [min - 1, max + 1].map(String) }
}

const describeControl = (control: OptionControl): unknown => {
  if (typeof control === 'string') return control
  return 'min' in control
    ? `a whole number from ${control.min} to ${control.max}`
    : [control.slice(0, -1).join(', '), control.at(-1)].join(' or ')
}

describe('controls', () => {
  test.each(rows)(
    '%s, %s - every word and both bounds are accepted, other values are not',
    (widget, name, { control }) => {
      const { good, bad } = listTries(control)
      expect(good.filter((value) => !accepts(widget, name, value))).toEqual([])
      expect(bad.filter((value) => accepts(widget, name, value))).toEqual([])
      expect(good.length * bad.length).toBeGreaterThan(0)
    },
  )

  test.each(rows.filter(([, , { control }]) => typeof control === 'object'))(
    '%s, %s - the description names its words or bounds',
    (_widget, _name, { control }) => {
      expect(describeAccepted(control)).toBe(describeControl(control))
    },
  )

  test.each(['where-to-buy', 'picks', 'deals'] as const)('%s - labels are present and unique', (widget) => {
    const labels = rows.filter(([listedFor]) => listedFor === widget).map(([, , { label }]) => label)
    expect(new Set(labels).size).toBe(labels.length)
    for (const label of labels) expect(label).toMatch(/^[A-Z][^.]+$/)
  })
})

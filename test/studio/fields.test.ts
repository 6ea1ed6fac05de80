import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { validateOptions } from '../../src/studio/selection.ts'
import { type WidgetKind, listOptions } from '../../src/widgets/option-list.ts'
import { type FieldOptions, type FieldView, listFields } from '../../src/studio/fields.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import { LANGUAGE_TAGS } from '../../src/widgets/locales/index.ts'

/** "Kopje" is shown as "Kopje & Co", and "kopje.example" is the same shop. */
const SHOPS = createShopBook([
  {
    merchant: 'Kopje',
    aliases: ['kopje.example'],
    shop: { name: 'Kopje & Co', logoPath: null, terms: null },
  },
])

const KINDS = ['where-to-buy', 'picks', 'deals'] as const

/** List the groups of a widget for typed options, with the errors of its parser. */
function listGroups(
  kind: WidgetKind,
  rawOptions = '',
  over: Partial<FieldOptions> = {},
): ReturnType<typeof listFields> {
  const query = new URLSearchParams(rawOptions)
  const defaults = over.defaults ?? { locale: 'en', currency: null }
  const details = {
    kind,
    rawOptions: query,
    errors: validateOptions(kind, query, defaults).errors,
    defaults,
    shops: [
      { name: 'Kopje', count: '5' },
      { name: 'Quillhaven', count: null },
    ],
    shopBook: createShopBook([]),
    heading: 'Where to buy',
    currencies: ['EUR', 'GBP'],
    brands: ['Lumen'],
    ...over,
  }
  return listFields(details)
}

const list = (...details: Parameters<typeof listGroups>): FieldView[] =>
  listGroups(...details).flatMap(({ fields }) => fields)

function find(fields: readonly FieldView[], name: string): FieldView {
  const field = fields.find((one) => one.name === name)
  if (field === undefined) throw new Error(`no field for ${name}`)
  return field
}

const getControl = (kind: WidgetKind, name: string, rawOptions = ''): FieldView['control'] =>
  find(list(kind, rawOptions), name).control

const listSuggestions = (name: string): unknown => {
  const control = getControl('deals', name)
  return control.kind === 'input' ? control.suggestions.map(({ value }) => value) : undefined
}

/** Options of a select or of checkboxes as `text`, `*text` when selected. */
function listMarks(control: FieldView['control']): string[] {
  return control.kind === 'input'
    ? []
    : control.options.map(({ text, isSelected }) => (isSelected ? '*' : '') + text)
}

describe('fields', () => {
  test.each(KINDS)(
    '%s - every option is a field of exactly one group, and there are no other fields',
    (kind) => {
      const names = list(kind).map(({ name }) => name)
      // Lists of products hold the others.
      expect(names.toSorted()).toEqual(
        listOptions(kind)
          .filter(({ field }) => field !== null)
          .map(({ name }) => name)
          .toSorted(),
      )
      expect(new Set(names).size).toBe(names.length)
    },
  )

  test.each([
    ['where-to-buy', ['Look', 'Shops', 'Placement', 'Advanced']],
    ['picks', ['Look', 'Shops', 'Placement', 'Advanced']],
    ['deals', ['Look', 'Deals', 'Shops', 'Placement', 'Advanced']],
  ] as const)('%s - empty groups are omitted', (kind, titles) => {
    const groups = listFields({
      kind,
      rawOptions: new URLSearchParams(),
      errors: new Map(),
      defaults: { locale: 'en', currency: null },
      shops: [],
      shopBook: createShopBook([]),
      heading: 'Where to buy',
      currencies: [],
      brands: [],
    })
    expect(groups.map(({ title }) => title)).toEqual(titles)
    expect(groups.map(({ isOpen }) => isOpen)).toEqual(
      titles.map((title) => !['Placement', 'Advanced'].includes(title)),
    )
    const advanced = groups.at(-1)?.fields.map(({ name }) => name)
    expect(advanced).toEqual(
      listOptions(kind)
        .filter(({ isFragmentOnly }) => isFragmentOnly === true)
        .map(({ name }) => name),
    )
  })

  test('group "Look" - also has the options that no group names, after its own', () => {
    const [look] = listGroups('where-to-buy')
    const names = look?.fields.map(({ name }) => name) ?? []
    expect(names.slice(0, 7)).toEqual(['layout', 'head', 'heading', 'theme', 'accent', 'limit', 'locale'])
  })

  test('group "Advanced" - opens when one of its options has a value, valid or not', () => {
    for (const query of ['isolate=shadow', 'css=x']) {
      const advanced = listGroups('deals', query).find(({ title }) => title === 'Advanced')
      expect(advanced?.isOpen).toBe(true)
    }
  })

  test('label and hint - come from the list; a hint is sentences without backticks, and names the default', () => {
    const field = find(list('where-to-buy'), 'theme')
    expect(field.label).toBe('Theme')
    expect(field.hint).toBe(
      'Colour scheme; auto is dark where the CSS of the page has color-scheme: dark, else light. Default: auto.',
    )
    for (const { hint } of [...list('where-to-buy'), ...list('deals')])
      expect(hint).toMatch(/^[^a-z`][^`]*\.$/)
  })
})

describe('placement', () => {
  test.each(KINDS)('%s - the group opens with a value, and has the message of an invalid one', (kind) => {
    const findPlacement = (query: string): ReturnType<typeof listGroups>[number] | undefined =>
      listGroups(kind, query).find(({ title }) => title === 'Placement')
    expect(findPlacement('')?.isOpen).toBe(false)
    const group = findPlacement('sub=my+page')
    expect(group?.isOpen).toBe(true)
    expect(group?.fields.map(({ label, error }) => [label, error])).toEqual([
      ['Placement', '“Placement” accepts 1 to 32 letters of A to Z, digits, hyphens and underscores.'],
    ])
  })
})

describe('layout inline', () => {
  test('where-to-buy - each group names the fields without effect, and why', () => {
    const groups = listGroups('where-to-buy', 'layout=inline&theme=dark')
    expect(groups.map(({ sentenceNote }) => sentenceNote)).toEqual([
      'The layout inline has the font and the colours of your page. Without effect, so hidden: Header, Heading, Theme, Accent colour, Shops shown.',
      'The layout inline shows only an offer in stock. Without effect, so hidden: Stock.',
      null,
      null,
    ])
    const unused = groups.flatMap(({ fields }) => fields).filter((field) => field.isUnusedInSentence)
    expect(unused.map(({ name }) => name)).toEqual(['head', 'heading', 'theme', 'accent', 'limit', 'stock'])
  })

  test('deals - has no such layout', () => {
    const groups = listGroups('deals')
    expect(groups.map(({ sentenceNote }) => sentenceNote)).toEqual([null, null, null, null, null])
    expect(groups.flatMap(({ fields }) => fields).some((field) => field.isUnusedInSentence)).toBe(false)
  })
})

describe('controls', () => {
  test('of each kind - follow the list of options', () => {
    const kinds = list('deals').map(({ name, control }) => [
      name,
      control.kind === 'input' ? `${control.type} ${control.inputMode ?? ''}`.trim() : control.kind,
    ])
    expect(Object.fromEntries(kinds)).toEqual({
      head: 'select',
      heading: 'text text',
      layout: 'select',
      theme: 'select',
      accent: 'text text',
      locale: 'text text',
      limit: 'number',
      sort: 'select',
      evidence: 'select',
      min_discount: 'number',
      max_price: 'text decimal',
      brand: 'text text',
      q: 'text text',
      page: 'number',
      stock: 'select',
      sub: 'text text',
      currency: 'text text',
      merchant: 'checks',
      exclude: 'checks',
      isolate: 'select',
      css: 'select',
    })
  })

  test('number - has its bounds, the typed value, and the default as its placeholder', () => {
    const control = getControl('where-to-buy', 'limit', 'limit=99')
    expect(control).toMatchObject({ kind: 'input', min: 1, max: 50, value: '99', placeholder: '5' })
    expect(getControl('deals', 'limit')).toMatchObject({ max: 60, value: '', placeholder: '12' })
    expect(getControl('deals', 'min_discount')).toMatchObject({ placeholder: '1' })
  })

  test('select - nothing typed: the default is selected', () => {
    expect(listMarks(getControl('where-to-buy', 'theme'))).toEqual(['*Auto', 'Light', 'Dark'])
    expect(listMarks(getControl('where-to-buy', 'stock'))).toEqual(['In', '*Any'])
    expect(listMarks(getControl('deals', 'stock'))).toEqual(['*In', 'Any'])
  })

  test('select - the typed value is selected', () => {
    expect(listMarks(getControl('deals', 'sort', 'sort=price'))).toEqual([
      'Discount',
      'Saving',
      '*Price',
      'Newest',
      'Drop',
    ])
  })

  test('invalid value of a select - stays selected, with its error', () => {
    const field = find(list('where-to-buy', 'theme=blue'), 'theme')
    expect(listMarks(field.control)).toEqual(['Auto', 'Light', 'Dark', '*blue'])
    expect(field.error).toBe('“Theme” accepts auto, light or dark.')
    expect(find(list('where-to-buy', 'theme=blue'), 'layout').error).toBeNull()
  })

  test('invalid text - stays in its field', () => {
    const field = find(list('deals', 'accent=%23ff6600&accent=x'), 'accent')
    expect(field.control).toMatchObject({ value: '#ff6600', placeholder: 'Theme’s own' })
    expect(field.error).toMatch(/one value, six hex digits/)
  })

  test('defaults of the server - are the placeholders of empty fields', () => {
    const over = { defaults: { locale: 'de-AT', currency: 'CHF' } }
    const fields = list('deals', '', over)
    expect(find(fields, 'locale').control).toMatchObject({ placeholder: 'de-AT' })
    expect(find(fields, 'currency').control).toMatchObject({ placeholder: 'CHF' })
    expect(getControl('deals', 'currency')).toMatchObject({ placeholder: 'most common' })
    expect(getControl('deals', 'max_price')).toMatchObject({ placeholder: 'any' })
  })

  test('suggestions - languages, currencies and brands, none for search words', () => {
    expect(['locale', 'currency', 'brand', 'q', 'accent', 'limit'].map(listSuggestions)).toEqual([
      LANGUAGE_TAGS,
      ['EUR', 'GBP'],
      ['Lumen'],
      [],
      [],
      [],
    ])
  })
})

describe('colour picker', () => {
  test.each([
    ['', '#0f5257'],
    ['accent=FF6600', '#ff6600'],
    ['accent=red', '#0f5257'],
  ])('%j - shows %s', (rawOptions, color) => {
    expect(getControl('where-to-buy', 'accent', rawOptions)).toMatchObject({ picker: { color } })
  })

  test('colour of the theme - is that of the style sheet of the widgets', () => {
    const css = readFileSync('public/styles/vitrine.css', 'utf8')
    const color = /--_accent: var\(--vitrine-accent, (#[0-9a-f]{6})\)/.exec(css)?.[1]
    expect(getControl('where-to-buy', 'accent')).toMatchObject({ picker: { themeColor: color } })
  })

  test('other fields - have none', () => {
    expect(getControl('deals', 'brand')).toMatchObject({ picker: null })
    expect(getControl('deals', 'limit')).toMatchObject({ picker: null })
  })
})

test('suggested languages - have their English names', () => {
  const control = getControl('deals', 'locale')
  expect(control.kind === 'input' && control.suggestions).toContainEqual({ value: 'de', label: 'German' })
})

describe('shops', () => {
  test('known shops - in their order with their counts, selected regardless of case', () => {
    const control = getControl('deals', 'merchant', 'merchant=KOPJE')
    expect(control).toMatchObject({
      kind: 'checks',
      options: [
        { value: 'Kopje', text: 'Kopje', count: '5', isSelected: true },
        { value: 'Quillhaven', count: null, isSelected: false },
      ],
    })
    expect(listMarks(getControl('deals', 'exclude', 'merchant=KOPJE'))).toEqual(['Kopje', 'Quillhaven'])
  })

  test('shops of the shop file - have their shown name, and any of their names selects them', () => {
    for (const name of ['kopje', 'KOPJE.example', 'Kopje %26 Co']) {
      const fields = list('deals', `merchant=${name}&exclude=kopje.example`, {
        shopBook: SHOPS,
        shops: [
          { name: 'Kopje', count: '5' },
          { name: 'Quillhaven', count: '2' },
        ],
      })
      const { control } = find(fields, 'merchant')
      expect(listMarks(control)).toEqual(['*Kopje & Co', 'Quillhaven'])
      expect(control).toMatchObject({ options: [{ value: 'Kopje' }, { value: 'Quillhaven' }] })
    }
    const unlisted = list('deals', 'exclude=kopje.example', { shopBook: SHOPS, shops: [] })
    expect(listMarks(find(unlisted, 'exclude').control)).toEqual(['*Kopje & Co'])
  })

  test('several names of one shop that is not listed - are one checked box', () => {
    for (const names of [
      ['Kopje', 'kopje.example'],
      ['Kopje %26 Co', 'KOPJE', 'kopje.example'],
    ]) {
      const query = [...names, 'Elsewhere', 'ELSEWHERE'].map((name) => `exclude=${name}`).join('&')
      const { control } = find(list('deals', query, { shopBook: SHOPS, shops: [] }), 'exclude')
      expect(control).toMatchObject({
        options: [
          { value: 'Kopje', text: 'Kopje & Co', isSelected: true },
          { value: expect.stringMatching(/^elsewhere$/i), isSelected: true },
        ],
      })
    }
  })

  test('unknown shops of the query - are selected after the known ones', () => {
    const marks = listMarks(getControl('where-to-buy', 'exclude', 'exclude=Elsewhere&exclude=kopje'))
    expect(marks).toEqual(['*Kopje', 'Quillhaven', '*Elsewhere'])
  })

  test('no known shops, none in the query - an empty list', () => {
    expect(listMarks(find(list('deals', '', { shops: [] }), 'merchant').control)).toEqual([])
  })

  test('too many shops - the error is at their field', () => {
    const rawOptions = Array.from({ length: 21 }, (_, index) => `merchant=m${index}`).join('&')
    const field = find(list('deals', rawOptions), 'merchant')
    expect(field.error).toMatch(/up to 20 merchants' names/)
    expect(listMarks(field.control)).toHaveLength(23)
  })
})

import { describe, expect, test } from 'vitest'
import { type WidgetKind, validateOptions, listOptions } from '../../src/studio/selection.ts'
import { type FieldDetails, type FieldView, listFields } from '../../src/studio/fields.ts'
import { LANGUAGE_TAGS } from '../../src/widgets/locales/index.ts'

const KINDS = ['where-to-buy', 'deals'] as const

/** List the fields of a widget for typed options, with the errors of its parser. */
function list(kind: WidgetKind, rawOptions = '', over: Partial<FieldDetails> = {}): FieldView[] {
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
    currencies: ['EUR', 'GBP'],
    brands: ['Lumen'],
    ...over,
  }
  return listFields(details).flatMap(({ fields }) => fields)
}

function find(fields: readonly FieldView[], name: string): FieldView {
  const field = fields.find((one) => one.name === name)
  if (field === undefined) throw new Error(`no field for ${name}`)
  return field
}

const getControl = (kind: WidgetKind, name: string, rawOptions = ''): FieldView['control'] =>
  find(list(kind, rawOptions), name).control

const listSuggestions = (name: string): unknown => {
  const control = getControl('deals', name)
  return control.kind === 'input' ? control.suggestions : undefined
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
      expect(names.toSorted()).toEqual(
        listOptions(kind)
          .map(({ name }) => name)
          .toSorted(),
      )
      expect(new Set(names).size).toBe(names.length)
    },
  )

  test.each([
    ['where-to-buy', ['Appearance', 'Offers', 'Includes only']],
    ['deals', ['Appearance', 'Deals', 'Offers', 'Includes only']],
  ] as const)('%s - empty groups are omitted', (kind, titles) => {
    const groups = listFields({
      kind,
      rawOptions: new URLSearchParams(),
      errors: new Map(),
      defaults: { locale: 'en', currency: null },
      shops: [],
      currencies: [],
      brands: [],
    })
    expect(groups.map(({ title }) => title)).toEqual(titles)
    const inIncludes = groups.at(-1)?.fields.map(({ name }) => name)
    expect(inIncludes).toEqual(
      listOptions(kind)
        .filter(({ isFragmentOnly }) => isFragmentOnly === true)
        .map(({ name }) => name),
    )
  })

  test('label and hint - come from the list; a hint is a sentence without backticks', () => {
    const field = find(list('where-to-buy'), 'theme')
    expect(field.label).toBe('Theme')
    expect(field.hint).toBe('Colour scheme; auto follows the preference of the reader’s system.')
    for (const { hint } of [...list('where-to-buy'), ...list('deals')])
      expect(hint).toMatch(/^[^a-z`][^`]*\.$/)
  })
})

describe('controls', () => {
  test('of each kind - follow the list of options', () => {
    const kinds = list('deals').map(({ name, control }) => [
      name,
      control.kind === 'input' ? `${control.type} ${control.inputMode ?? ''}`.trim() : control.kind,
    ])
    expect(Object.fromEntries(kinds)).toEqual({
      layout: 'select',
      theme: 'select',
      accent: 'text text',
      locale: 'text text',
      limit: 'number',
      sort: 'select',
      min_discount: 'number',
      max_price: 'text decimal',
      brand: 'text text',
      q: 'text text',
      page: 'number',
      stock: 'select',
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

  test('select - nothing typed: the default is selected and marked', () => {
    expect(listMarks(getControl('where-to-buy', 'theme'))).toEqual(['*auto (default)', 'light', 'dark'])
    expect(listMarks(getControl('where-to-buy', 'stock'))).toEqual(['in', '*any (default)'])
    expect(listMarks(getControl('deals', 'stock'))).toEqual(['*in (default)', 'any'])
  })

  test('select - the typed value is selected, the default stays marked', () => {
    expect(listMarks(getControl('deals', 'sort', 'sort=price'))).toEqual([
      'discount (default)',
      'saving',
      '*price',
      'newest',
    ])
  })

  test('invalid value of a select - stays selected, with its error', () => {
    const field = find(list('where-to-buy', 'theme=blue'), 'theme')
    expect(listMarks(field.control)).toEqual(['auto (default)', 'light', 'dark', '*blue'])
    expect(field.error).toBe('“Theme” accepts auto, light or dark.')
    expect(find(list('where-to-buy', 'theme=blue'), 'layout').error).toBeNull()
  })

  test('invalid text - stays in its field', () => {
    const field = find(list('deals', 'accent=%23ff6600&accent=x'), 'accent')
    expect(field.control).toMatchObject({ value: '#ff6600', placeholder: 'ff6600' })
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

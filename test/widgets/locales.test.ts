import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  LANGUAGE_TAGS,
  type LocaleTexts,
  getLocalization,
  joinTextParts,
} from '../../src/widgets/locales/index.ts'

const getTexts = (tag: string): LocaleTexts => getLocalization(tag).texts

const PLURAL_TEXTS = ['moreShops', 'omittedShops', 'shopCount', 'moreVariants'] as const

/** List the texts of a language by path, without plural forms, which have a separate test. */
function listTexts(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]]
  return Object.entries(value as object).flatMap(([key, inner]) =>
    path === '' && PLURAL_TEXTS.some((name) => name === key)
      ? []
      : listTexts(inner, path === '' ? key : `${path}.${key}`),
  )
}

const listPlaceholders = (text: string): string[] =>
  [...text.matchAll(/\{\w+\}/g)].map(([placeholder]) => placeholder).sort()

const ENGLISH = new Map(listTexts(getTexts('en')))

describe('languages', () => {
  test('every supported language - has a file, and there are no other files', () => {
    expect(LANGUAGE_TAGS).toEqual(
      ['ar', 'cs', 'da', 'de', 'en', 'es', 'fi', 'fr', 'it', 'ja', 'nb', 'nl', 'pl', 'pt', 'sv'].sort(),
    )
    const files = readdirSync(new URL('../../src/widgets/locales', import.meta.url))
    expect(files.filter((file) => file !== 'index.ts').sort()).toEqual(
      LANGUAGE_TAGS.map((tag) => `${tag}.json`),
    )
  })

  test.each(LANGUAGE_TAGS)('%s - has the same keys as English', (tag) => {
    expect(
      listTexts(getTexts(tag))
        .map(([path]) => path)
        .sort(),
    ).toEqual([...ENGLISH.keys()].sort())
  })

  test.each(LANGUAGE_TAGS)('%s - every text is non-empty and has the placeholders of English', (tag) => {
    for (const [path, text] of listTexts(getTexts(tag))) {
      expect([path, text.trim()]).toEqual([path, text])
      expect([path, text.length > 0]).toEqual([path, true])
      expect([path, listPlaceholders(text)]).toEqual([path, listPlaceholders(ENGLISH.get(path) ?? '')])
      expect([path, /[<>]|undefined|TODO|'/.test(text)]).toEqual([path, false])
    }
  })

  const pluralCases = LANGUAGE_TAGS.flatMap((tag) => PLURAL_TEXTS.map((name) => [tag, name] as const))

  test.each(pluralCases)('%s, %s - has exactly the plural forms of Intl', (tag, name) => {
    const forms = getTexts(tag)[name]
    const { pluralCategories } = new Intl.PluralRules(tag).resolvedOptions()
    expect(Object.keys(forms).sort()).toEqual([...pluralCategories].sort())
    // Forms for exactly one and two may spell out the number.
    const counted = Object.entries(forms).filter(([form]) => !['zero', 'one', 'two'].includes(form))
    for (const [form, text] of counted) expect([form, listPlaceholders(text)]).toEqual([form, ['{count}']])
  })

  test.each(LANGUAGE_TAGS.filter((tag) => tag !== 'en'))(
    '%s - is translated: fewer than six texts equal English',
    (tag) => {
      const same = listTexts(getTexts(tag)).filter(([path, text]) => ENGLISH.get(path) === text)
      expect(same.length).toBeLessThan(6)
    },
  )

  test.each(LANGUAGE_TAGS)('%s - has the direction of its script', (tag) => {
    expect(getLocalization(tag).dir).toBe(/\p{Script=Arabic}/u.test(getTexts(tag).boxHeading) ? 'rtl' : 'ltr')
  })

  test.each(LANGUAGE_TAGS)('%s - no line of a card ends with a preposition', (tag) => {
    const words = getTexts(tag).atMerchant.split(' ').slice(0, -1)
    // Words that may stand alone on a line: "Shop:", or a preposition with its noun.
    expect(words.filter((word) => !/[:：]$|\u00A0/u.test(word))).toEqual([])
  })

  test.each(LANGUAGE_TAGS)('%s - messages insert names unchanged, in one pass', (tag) => {
    const { messages } = getLocalization(tag)
    const merchant = 'A & B {price} $& {merchant}'
    expect(messages.formatBoxLabel({ title: merchant })).toContain(merchant)
    expect(joinTextParts(messages.splitAtMerchant({ merchant }))).toContain(merchant)
    expect(messages.formatLinkWithoutPrice({ merchant })).toContain(merchant)
    const link = messages.formatLinkWithPrice({ merchant, price: '12,99 €' })
    expect(link).toContain(merchant)
    expect(link.replace(merchant, '')).toContain('12,99 €')
    expect(messages.pricesChecked.before + messages.pricesChecked.after).not.toContain('{')
  })
})

describe('language of a tag', () => {
  test.each([
    ['en-GB', 'en'],
    ['DE-at', 'de'],
    ['de-Latn-CH', 'de'],
    ['pt-BR', 'pt'],
    ['ar-EG', 'ar'],
    ['no', 'nb'],
    ['nn-NO', 'nb'],
    ['xx', 'en'],
    ['', 'en'],
    ['__proto__', 'en'],
    ['index', 'en'],
    ['words', 'en'],
  ])('%s - the texts of %s', (tag, lang) => {
    expect(getLocalization(tag).texts).toBe(getLocalization(lang).texts)
    expect(getLocalization(tag).lang).toBe(lang)
  })

  test.each([
    ['en', 1, '1 more shop'],
    ['en', 12, '12 more shops'],
    ['de', 1, '1 weiterer Shop'],
    ['pl', 1, '1 sklep'],
    ['pl', 3, '3 sklepy'],
    ['pl', 12, '12 sklepów'],
    ['pl', 22, '22 sklepy'],
    ['cs', 3, '3'],
    ['ar', 3, '3'],
    ['ja', 1, '1'],
  ])('%s, %i folded offers - has %s', (tag, count, words) => {
    const text = getLocalization(tag).messages.formatMoreShops({ count, shown: String(count) })
    expect(text.replace(/ (?:inny|inne|innych|kolejny|kolejne|kolejnych|więcej)/, '')).toContain(words)
  })

  test('disclosures - begin with the customary word for advertising of the country', () => {
    expect(getTexts('de').disclosure).toMatch(/^Anzeige/)
    expect(getTexts('sv').disclosure).toMatch(/^Annons/)
    expect(getTexts('nb').disclosure).toMatch(/^Annonse/)
    expect(getTexts('ja').disclosure).toMatch(/^広告/)
  })
})

describe('localization', () => {
  test.each([
    ['pt-PT', 'pt', 'pt-PT'],
    ['no', 'nb', 'nb'],
    ['ar-EG', 'ar', 'ar-EG'],
    ['tlh', 'en', 'en'],
  ])('%s - texts of %s, prices and dates as in %s', (tag, lang, locale) => {
    expect(getLocalization(tag)).toMatchObject({ lang, locale })
  })
})

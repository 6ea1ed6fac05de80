import { describe, expect, it } from 'vitest'
import { findConditionProblem, normalizeCondition } from '../../../src/catalog-service/import/feed-values.ts'
import { parseFeedMap } from '../../../src/catalog-service/import/column-map.ts'
import { readCells } from './read-feed-text.ts'

const NONE: ReadonlySet<string> = new Set()

/** Words of shops for new goods: of Google in its languages, of eBay, Amazon, schema.org and shops. */
const NEW = [
  '',
  ' ',
  '-',
  'new',
  'New',
  'NEW',
  'Brand New',
  'brand-new',
  'New (never used)',
  'unused',
  'New with tags',
  '1000',
  '11',
  'https://schema.org/NewCondition',
  'http://schema.org/NewCondition',
  'schema:NewCondition',
  'NewCondition',
  'new condition',
  'http://purl.org/goodrelations/v1#New',
  'neu',
  'Neuware',
  'Neu & OVP',
  'ungebraucht',
  'neuf',
  'état neuf',
  'nuevo',
  'nuovo',
  'novo',
  'nieuw',
  'Nieuw',
  'ny',
  'nytt',
  'uusi',
  'nowy',
  'Nowy',
  'nový',
  'nové',
  'nova',
  'új',
  'nou',
  'yeni',
  'новый',
  'новий',
  'нов',
  'καινούργιο',
  'جديد',
  'חדש',
  '新品',
  '全新',
  '새상품',
  'schema.org/NewCondition',
  '//schema.org/NewCondition',
  'OfferItemCondition.NewCondition',
  'neu und originalverpackt',
  'Zustand: neu',
  'Flambant neuf',
  'nuevo a estrenar',
  'Nuovo di fabbrica',
  'nowy produkt',
  'stan nowy',
  'nový produkt',
  'uusi tuote',
  'ny vara',
  'helt nyt',
  'BNIB',
  ' – ',
]

/** The same for used, repaired and damaged goods, and words that say nothing. */
const NOT_NEW = [
  'used',
  'Used - very good',
  'refurbished',
  'renewed',
  'open box',
  'like new',
  'as new',
  'almost new',
  'nearly new',
  'new other',
  'new with defects',
  'damaged packaging',
  'demo',
  'ex-display',
  'B-grade',
  'pre-owned',
  'pre-loved',
  'for parts',
  '3000',
  '1500',
  '1',
  'https://schema.org/UsedCondition',
  'https://schema.org/DamagedCondition',
  'https://schema.org/RefurbishedCondition',
  'gebraucht',
  'neuwertig',
  'wie neu',
  'generalüberholt',
  'Vorführgerät',
  'occasion',
  'comme neuf',
  'reconditionné',
  'usato',
  'ricondizionato',
  'come nuovo',
  'usado',
  'reacondicionado',
  'como nuevo',
  'recondicionado',
  'tweedehands',
  'gereviseerd',
  'zo goed als nieuw',
  'brugt',
  'som ny',
  'begagnad',
  'som ny',
  'käytetty',
  'używany',
  'odnowiony',
  'jak nowy',
  'bazar',
  'použité',
  'repasovaný',
  'б/у',
  'вживаний',
  'kullanılmış',
  'مستعمل',
  'משומש',
  '中古',
  '중고',
  'n/a',
  'unknown',
  'old',
  'newborn',
  'renew',
  '???',
  '?/?',
  '***',
  'https://schema.org/UsedCondition',
  'schema.org/RefurbishedCondition',
]

describe('condition', () => {
  it.each(NEW)('%j - is new', (text) => {
    expect(findConditionProblem(text, NONE)).toBeUndefined()
  })

  it.each(NOT_NEW)('%j - is not known to be new, and is quoted', (text) => {
    expect(findConditionProblem(text, NONE)).toBe(`the condition "${text}" is not known to mean new`)
  })

  it('a word of the map - is new as well', async () => {
    const fields = { gtin: 'gtin', title: 'title', price: 'price', pageLink: 'link', condition: 'condition' }
    const map = parseFeedMap({ format: 'table', newConditions: ['Neuwertig!', 'A'], fields })
    const cells = { gtin: '9520001001024', title: 'T', price: '1 EUR', link: 'https://a.example/' }
    for (const condition of ['neuwertig', 'A', 'new'])
      expect((await readCells({ ...cells, condition }, { map })).products).toHaveLength(1)
    const { products, rejects } = await readCells({ ...cells, condition: 'B' }, { map })
    expect([products, rejects]).toMatchObject([
      [],
      [{ row: 2, field: 'condition', reason: 'the condition "B" is not known to mean new' }],
    ])
  })

  it('long text - is cut in the reason', () => {
    expect(findConditionProblem(`used ${'x'.repeat(1_000)}`, NONE)).toHaveLength(82)
  })

  it('normalized - address, accents, case and signs are removed', () => {
    expect(normalizeCondition('https://schema.org/NewCondition')).toBe('new')
    expect(normalizeCondition(' Nový – nepoužitý! ')).toBe('novynepouzity')
  })
})

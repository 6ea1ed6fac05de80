import { describe, expect, test } from 'vitest'
import { applyChange, toChange } from '../../src/studio/changes.ts'
import { toGtin } from '../helpers/products.ts'

const [A, B, C] = [toGtin(1), toGtin(2), toGtin(3)]

/** Apply a change to a query: the parameters of the lists afterwards. */
function change(query: string, text: string): Record<string, string | string[] | null> | null {
  const changed = applyChange(new URLSearchParams(`${query}&change=${encodeURIComponent(text)}`))
  return (
    changed && {
      gtin: changed.get('gtin'),
      else: changed.get('else'),
      gtins: changed.get('gtins'),
      labels: changed.getAll('label'),
      change: changed.get('change'),
    }
  )
}

const NONE = { gtin: null, else: null, gtins: null, labels: [], change: null }
const PICKS = `tab=picks&gtins=${A},${B}&label=&label=Second`

describe('change of a list', () => {
  test('query without a change - none', () => {
    expect(applyChange(new URLSearchParams(PICKS))).toBeNull()
  })

  test.each([
    [toChange('add', C), { gtins: `${A},${B},${C}`, labels: ['', 'Second'] }],
    [toChange('remove', A), { gtins: B, labels: ['Second'] }],
    [toChange('up', B), { gtins: `${B},${A}`, labels: ['Second'] }],
    [toChange('down', A), { gtins: `${B},${A}`, labels: ['Second'] }],
    [toChange('up', A), { gtins: `${A},${B}`, labels: ['', 'Second'] }],
  ])('%s - the address holds the new list with its labels', (text, expected) => {
    expect(change(PICKS, text)).toEqual({ ...NONE, ...expected })
  })

  test.each([
    [toChange('variant', C), { gtin: `${A}~${C}`, else: B }],
    [toChange('stand-in', C), { gtin: A, else: `${B},${C}` }],
    [toChange('variant', B), { gtin: `${A}~${B}` }],
    [toChange('drop', B), { gtin: A }],
  ])('%s - the address holds the products of the box', (text, expected) => {
    expect(change(`gtin=${A}&else=${B}`, text)).toEqual({ ...NONE, ...expected })
  })

  test.each(['', 'add', 'add x', 'sort 1', 'constructor 1', `__proto__ ${A}`])(
    '%j - an invalid change changes nothing',
    (text) => {
      expect(change(PICKS, text)).toEqual({ ...NONE, gtins: `${A},${B}`, labels: ['', 'Second'] })
    },
  )

  test('everything else - stays: tab, channel, search and options, also invalid ones', () => {
    const query = `${PICKS}&channel=abc&find=lamp&layout=row&theme=blue&change=${encodeURIComponent(toChange('remove', A))}`
    expect(applyChange(new URLSearchParams(query))?.toString()).toBe(
      `tab=picks&channel=abc&gtins=${B}&label=Second&find=lamp&layout=row&theme=blue`,
    )
  })
})

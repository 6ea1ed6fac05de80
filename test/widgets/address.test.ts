import { describe, expect, test } from 'vitest'
import { BadOptionError, InvalidGtinError } from '../../src/errors.ts'
import { createAddressParsers } from '../../src/widgets/address.ts'
import { GTIN } from '../app/app-client.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'

const { parseBoxAddress, parseGridAddress } = createAddressParsers({ locale: 'en', currency: null })
const PARTS = { surface: 'fragment', channelId: CHANNEL_ID, query: '' } as const

describe('normalized address', () => {
  test.each([
    ['', ''],
    ['limit=3&theme=dark', '?theme=dark&limit=3'],
    ['theme=dark&limit=3&utm_source=x', '?theme=dark&limit=3'],
    ['limit=5&theme=auto&css=link', ''],
    ['merchant=b&merchant=A&q2=', '?merchant=a&merchant=b'],
    [`x=${'y'.repeat(900)}`, ''],
  ])('query "%s" - becomes "%s"', (query, normal) => {
    const { path } = parseBoxAddress({ ...PARTS, query, gtin: GTIN })
    expect(path).toBe(`${CHANNEL_ID}/where-to-buy/${GTIN}${normal}`)
    expect(parseGridAddress({ ...PARTS, query: query.replace('limit=5', '') }).path).toBe(
      `${CHANNEL_ID}/deals${normal}`,
    )
  })

  test('channel in upper case, GTIN without leading zeros - the same box', () => {
    const address = parseBoxAddress({ ...PARTS, gtin: GTIN })
    const { channelId, gtins, path } = parseBoxAddress({
      ...PARTS,
      channelId: CHANNEL_ID.toUpperCase(),
      gtin: GTIN.slice(1),
    })
    expect({ channelId, gtins, path }).toEqual({ channelId: CHANNEL_ID, gtins: [GTIN], path: address.path })
  })

  test('fragment-only options - are omitted from the address of an embed', () => {
    const query = 'isolate=shadow&markup=schema'
    expect(parseBoxAddress({ ...PARTS, query, gtin: GTIN }).path).toContain('?isolate=shadow&markup=schema')
    expect(parseBoxAddress({ ...PARTS, surface: 'embed', query, gtin: GTIN }).path).not.toContain('?')
  })

  test('invalid option and invalid GTIN - the option is reported first, also on the second request', () => {
    for (let count = 0; count < 2; count += 1) {
      expect(() => parseBoxAddress({ ...PARTS, query: 'limit=0', gtin: 'x' })).toThrow(BadOptionError)
      expect(() => parseBoxAddress({ ...PARTS, gtin: 'x' })).toThrow(InvalidGtinError)
      expect(() => parseGridAddress({ ...PARTS, query: 'page=0' })).toThrow(BadOptionError)
    }
  })
})

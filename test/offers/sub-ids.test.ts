import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { createAffiliateLink } from '../../src/catalog-service/store/networks.ts'
import { readSubData } from '../../src/config/sub-ids-file.ts'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { MAX_LINK_CHARACTERS, isUsableLink } from '../../src/offers/links.ts'
import {
  NO_SUB_RULES,
  SIGNATURE_PARAMETERS,
  type SubForm,
  type SubPosition,
  createSubRules,
  insertSub,
} from '../../src/offers/sub-ids.ts'
import { toRunCount } from '../helpers/property-runs.ts'
import { PUBLISHED_LINKS, type PublishedLink, SUB } from './published-links.ts'
import { anyText } from '../helpers/any-text.ts'

const { networks } = readSubData(join(PACKAGE_FOLDER, 'deploy/sub-ids.json'))
const shipped = createSubRules(networks)

const createRules = (forms: readonly SubForm[], maxCharacters = 40): ReturnType<typeof createSubRules> =>
  createSubRules([
    {
      names: ['Net'],
      hosts: ['go.example', '*.links.example'],
      maxCharacters,
      signatures: SIGNATURE_PARAMETERS,
      forms,
    },
  ])

const REF: SubForm = { start: '', kind: 'parameter', name: 'ref', isLast: false }
const PATH: SubForm = { start: '/c/', kind: 'insert', insert: '/p:{sub}', before: ['/d:'] }
const PATH_END: SubForm = { start: '/c/', kind: 'insert', insert: '/p:{sub}', before: [] }
const CALL: SubForm = { start: '/f', kind: 'insert', insert: 'p({sub})', before: ['d('] }

const rules = createRules([REF])
const pathRules = createRules([PATH, PATH_END, CALL])

/** The link with a sub-id, or the reason why it stays as it is. */
function tag(link: string, { examine } = rules, network = 'net'): string {
  const result = examine({ network, affiliateUrl: link })
  return typeof result === 'string' ? result : insertSub(link, result, SUB)
}

const NO_PARTS = { parameters: [] as readonly (readonly [string, string])[], rest: '' }

/** The parsed link: its parameters without one, and everything else. */
function parseParts(link: string, omitted: string): typeof NO_PARTS {
  const { href, search, searchParams } = new URL(link)
  const parameters = [...searchParams].filter(([name]) => name !== omitted)
  return { parameters, rest: href.replace(search, '') }
}

const hasParameter = (link: PublishedLink): link is PublishedLink & { parameter: string } =>
  'parameter' in link
const hasInserted = (link: PublishedLink): link is PublishedLink & { inserted: string } => 'inserted' in link

describe('shipped rules', () => {
  it('cover ten networks, each with a source and a published link', () => {
    const covered = networks.map(({ names }) => names[0])
    expect(covered).toEqual([
      'awin',
      'cj',
      'impact',
      'rakuten',
      'tradedoubler',
      'adtraction',
      'partnerize',
      'webgains',
      'tradetracker',
      'kelkoo',
    ])
    const published = PUBLISHED_LINKS.map((link) => shipped.findPosition(toOffer(link))?.maxCharacters)
    expect(new Set(published)).toEqual(new Set(networks.map(({ maxCharacters }) => maxCharacters)))
  })

  it('are listed in docs/publish/sub-ids.md', () => {
    const page = readFileSync(join(PACKAGE_FOLDER, 'docs/publish/sub-ids.md'), 'utf8')
    const rows = [...page.matchAll(/^\| (\w+) +\| `(\w+)` +\| (\d+) +\|$/gm)].map(([, ...cells]) => cells)
    expect(rows).toEqual(
      networks.map(({ names, forms, maxCharacters }) => [names[0], toName(forms[0]), String(maxCharacters)]),
    )
  })

  it.each(PUBLISHED_LINKS)('$network: $link - gets the sub-id', (published) => {
    expect(tag(published.link, shipped, published.network)).toBe(published.after)
    expect(isUsableLink(published.after)).toBe(true)
  })

  it.each(PUBLISHED_LINKS.filter(hasParameter))(
    '$network: $link, parsed - differs only in its parameter',
    ({ link, after, parameter }) => {
      expect(new URL(after).searchParams.getAll(parameter)).toEqual([SUB])
      expect(parseParts(after, parameter)).toEqual(parseParts(link, parameter))
    },
  )

  it.each(PUBLISHED_LINKS.filter(hasInserted))(
    '$network: $link, parsed - differs only in the inserted text',
    ({ link, after, inserted }) => {
      expect(inserted).toContain(SUB)
      expect(new URL(after).href.replace(inserted, '')).toBe(new URL(link).href)
      expect(new URL(after).host).toBe(new URL(link).host)
    },
  )

  it.each(PUBLISHED_LINKS)('$network: $after - already has a sub-id', ({ network, after }) => {
    expect(tag(after, shipped, network)).toBe('tagged')
  })

  it.each([
    ['awin', 'https://www.awin1.com.evil.example/cread.php?a=1', 'other_form'],
    ['awin', 'https://shop.example/?ued=https://www.awin1.com/', 'other_form'],
    ['cj', 'https://www.anrdoezrs.net/links/1/type/dlg/www.shop.example/lamp', 'other_form'],
    ['cj', 'https://www.anrdoezrs.net/lb117vpyvpx?url=https%3A%2F%2Fwww.example.com', 'other_form'],
    ['tradedoubler', 'https://clk.tradedoubler.com/click?https://shop.example/?a=1', 'other_form'],
    ['tradetracker', 'https://shop.example/in/?tt=16956_12_417111_&r=https%3A%2F%2Fa.example', 'other_form'],
    ['awin', 'https://www.awin1.com/cread.php?awinmid=1&hash=2f1', 'signed'],
    ['unknown', 'https://www.awin1.com/cread.php?awinmid=1', 'no_rule'],
  ])('%s: %s - %s', (network, link, reason) => {
    expect(tag(link, shipped, network)).toBe(reason)
  })
})

const toName = (form: SubForm | undefined): string | undefined =>
  form?.kind === 'parameter' ? form.name : form?.insert.match(/\w+/)?.[0]

const toOffer = ({ network, link }: PublishedLink): { network: string; affiliateUrl: string } => ({
  network,
  affiliateUrl: link,
})

describe('link template of the catalog service', () => {
  it.each([
    [
      'awin',
      'https://www.awin1.com/cread.php?awinmid={merchant}&clickref={sub}&ued={url}',
      'https://www.awin1.com/cread.php?awinmid=1&clickref=best-lamps_2&ued=https%3A%2F%2Fa.example%2F%3Fb%3D1',
    ],
    [
      'partnerize',
      'https://prf.hn/click/camref:{publisher}/pubref:{sub}/destination:{url}',
      'https://prf.hn/click/camref:2/pubref:best-lamps_2/destination:https%3A%2F%2Fa.example%2F%3Fb%3D1',
    ],
    [
      'tradedoubler',
      'https://clk.tradedoubler.com/click?p({merchant})a({publisher})epi({sub})url({url})',
      'https://clk.tradedoubler.com/click?p(1)a(2)epi(best-lamps_2)url(https%3A%2F%2Fa.example%2F%3Fb%3D1)',
    ],
  ])('%s: %s - its {sub} is filled in place', (network, template, expected) => {
    const parts = { merchantUrl: 'https://a.example/?b=1', merchant: '1', publisher: '2' }
    expect(tag(createAffiliateLink({ ...parts, template }), shipped, network)).toBe(expected)
  })
})

describe('query parameter', () => {
  it.each([
    ['https://go.example', 'https://go.example?ref=best-lamps_2'],
    ['https://go.example/x#f', 'https://go.example/x?ref=best-lamps_2#f'],
    ['https://go.example/x#f?a=1', 'https://go.example/x?ref=best-lamps_2#f?a=1'],
    ['https://go.example/x?', 'https://go.example/x?ref=best-lamps_2'],
    ['https://go.example/x?#f', 'https://go.example/x?ref=best-lamps_2#f'],
    ['HTTPS://GO.example:8443/x?a=1', 'HTTPS://GO.example:8443/x?ref=best-lamps_2&a=1'],
    ['http://a.b.links.example/x?a', 'other_form'],
    [
      'https://go.example/?u=https://s.example/?a=1&b',
      'https://go.example/?ref=best-lamps_2&u=https://s.example/?a=1&b',
    ],
    // An encoded destination may have the same parameter.
    [
      'https://go.example/?u=https%3A%2F%2Fs.example%3Fref%3D1',
      'https://go.example/?ref=best-lamps_2&u=https%3A%2F%2Fs.example%3Fref%3D1',
    ],
    ['https://go.example/?a=1&xref=2&ref2=3', 'https://go.example/?ref=best-lamps_2&a=1&xref=2&ref2=3'],
    // Without a value, it is filled in place.
    ['https://go.example/?ref=', 'https://go.example/?ref=best-lamps_2'],
    ['https://go.example/?a=1&ref=&u=x', 'https://go.example/?a=1&ref=best-lamps_2&u=x'],
    ['https://go.example/?a=1&ref&u=x', 'https://go.example/?a=1&ref=best-lamps_2&u=x'],
    ['https://go.example/?a=1&ref=#f', 'https://go.example/?a=1&ref=best-lamps_2#f'],
    // With a value, however it is written.
    ['https://go.example/?ref=1', 'tagged'],
    ['https://go.example/?a=1&REF=1', 'tagged'],
    ['https://go.example/?a=1&%72e%46=1', 'tagged'],
    ['https://go.example/?a=1&amp;ref=1', 'tagged'],
    ['https://go.example/?u=https://s.example/?ref=1', 'tagged'],
    ['https://go.example/?u=https://s.example/?a=1&ref=1', 'tagged'],
    ['https://go.example/?ref=&ref=1', 'tagged'],
    // Empty, but maybe not the network's own.
    ['https://go.example/?u=https://s.example/?ref=', 'tagged'],
    ['https://go.example/?a=1#b&ref=', 'tagged'],
    ['https://go.example/?a=1&Ref=', 'tagged'],
    ['https://go.example/?a=1&ref=&ref=', 'tagged'],
    // Not a list of named values.
    ['https://go.example/?12345', 'other_form'],
    ['https://go.example/?p(1)a(2)', 'other_form'],
    ['https://go.example/?https://s.example/?a=1', 'other_form'],
    // Other hosts.
    ['https://links.example/x', 'other_form'],
    ['https://go.example.evil.example/x', 'other_form'],
    ['https://go.example@evil.example/x', 'other_form'],
    ['https://go.example:443@evil.example/x', 'other_form'],
    ['https://go.example\\@evil.example/x', 'other_form'],
    ['https://evil.example/https://go.example/x', 'other_form'],
    ['https://evil.example?.links.example/x', 'other_form'],
    ['//go.example/x', 'other_form'],
    ['', 'other_form'],
  ])('%j - %j', (link, expected) => {
    expect(tag(link)).toBe(expected)
  })

  it('last - goes behind the other parameters', () => {
    const last = createRules([{ start: '', kind: 'parameter', name: 'ref', isLast: true }])
    expect(tag('https://go.example/?a=1&u=x#f', last)).toBe('https://go.example/?a=1&u=x&ref=best-lamps_2#f')
    expect(tag('https://go.example/?#f', last)).toBe('https://go.example/?ref=best-lamps_2#f')
    expect(tag('https://go.example/x', last)).toBe('https://go.example/x?ref=best-lamps_2')
  })

  it('longer sub-id than allowed - is cut', () => {
    const position = createRules([REF], 4).findPosition({
      network: 'NET',
      affiliateUrl: 'https://go.example/',
    })
    expect(insertSub('https://go.example/', position as SubPosition, 'abcdefgh')).toBe(
      'https://go.example/?ref=abcd',
    )
  })

  it('link of almost the maximum length - stays', () => {
    const link = `https://go.example/${'x'.repeat(MAX_LINK_CHARACTERS - 50)}`
    expect([isUsableLink(link), tag(link)]).toEqual([true, 'too_long'])
  })

  it.each(SIGNATURE_PARAMETERS)('link that is signed with "%s" - stays', (name) => {
    expect(tag(`https://go.example/?a=1&${name}=2`)).toBe('signed')
    expect(tag(`https://go.example/?${name.toUpperCase()}=2`)).toBe('signed')
    expect(tag(`https://go.example/?a=1&${name}=`)).toContain(SUB)
    expect(tag(`https://go.example/?a=1&x${name}=2`)).toContain(SUB)
  })
})

describe('inserted text', () => {
  it.each([
    ['https://go.example/c/1', 'https://go.example/c/1/p:best-lamps_2'],
    ['https://go.example/c/1#f', 'https://go.example/c/1/p:best-lamps_2#f'],
    ['https://go.example/c/1/d:https://s/d:x', 'https://go.example/c/1/p:best-lamps_2/d:https://s/d:x'],
    ['https://go.example/c/1/p:/d:https://s', 'https://go.example/c/1/p:best-lamps_2/d:https://s'],
    ['https://go.example/c/1/p:', 'https://go.example/c/1/p:best-lamps_2'],
    ['https://go.example/c/1/p:9/d:https://s', 'tagged'],
    ['https://go.example/c/1/P:9/d:https://s', 'tagged'],
    ['https://go.example/c/1/%70:9/d:https://s', 'tagged'],
    ['https://go.example/c/1/d:https://s/p:9', 'tagged'],
    ['https://go.example/c/1/d:https://s/p:', 'tagged'],
    ['https://go.example/c/1/p:/p:/d:https://s', 'tagged'],
    ['https://go.example/c/1?signature=1', 'signed'],
    ['https://go.example/f?a(1)d(x)', 'https://go.example/f?a(1)p(best-lamps_2)d(x)'],
    ['https://go.example/f?a(1)p()d(x)', 'https://go.example/f?a(1)p(best-lamps_2)d(x)'],
    ['https://go.example/f?a(1)p(9)d(x)', 'tagged'],
    ['https://go.example/f?a(1)#d(x)', 'other_form'],
    ['https://go.example/x/c/1', 'other_form'],
  ])('%j - %j', (link, expected) => {
    expect(tag(link, pathRules)).toBe(expected)
  })
})

/** Parts from which links are built that are hard to read. */
const HOSTILE_PARTS =
  `? & # ; = % / : ( ) @ . + ' $ {sub} %00 %26 %3F &amp; http:// https%3A%2F%2F a 1 é sig= hash=x
  /ar: /destination: url( )url( clickref ClickRef %63lickref clickref= &clickref= ?clickref= clickref=x &sid= /sid/
  &subId1 u1= &epi= epi( EPI(x) /pubref: /pubref:x ?r= &r= &r &custom1= .ts=1`.split(/\s+/)

const STARTS = [
  ['awin', 'https://www.awin1.com'],
  ['awin', 'https://www.awin1.com/cread.php?awinmid=1'],
  ['cj', 'https://www.anrdoezrs.net/click-1-2'],
  ['cj', 'https://www.anrdoezrs.net/links/1/type/dlg'],
  ['impact', 'http://brand.pxf.io/c/1/2/3'],
  ['rakuten', 'https://click.linksynergy.com/deeplink?id=1&murl='],
  ['tradedoubler', 'https://clk.tradedoubler.com/click?p(1)'],
  ['tradedoubler', 'https://clk.tradedoubler.com/click?p=1'],
  ['adtraction', 'https://track.adtraction.com:8443/t/t?a=1&url='],
  ['partnerize', 'https://prf.hn/click/camref:1'],
  ['webgains', 'https://track.webgains.com/click.html?wgcampaignid=1'],
  ['tradetracker', 'https://tc.tradetracker.net/?c=1'],
  ['kelkoo', 'https://uk-go.kelkoogroup.net/sitesearchGo?.ts=1&.sig=2'],
] as const

const hostileLink = fc
  .tuple(
    fc.constantFrom(...STARTS),
    fc.array(fc.oneof(fc.constantFrom(...HOSTILE_PARTS), anyText({ maxLength: 3 })), {
      maxLength: 8,
    }),
  )
  .map(([[network, start], parts]) => ({ network, affiliateUrl: `${start}${parts.join('')}` }))

const anySub = fc.stringMatching(/^[\w-]{1,32}$/)

describe('hostile links', () => {
  test('with any sub-id - only the insertion differs, the result is usable, has the same host, and gets no second sub-id', () => {
    let tagged = 0
    fc.assert(
      fc.property(hostileLink, anySub, (offer, sub) => {
        const { affiliateUrl: link } = offer
        const position = shipped.findPosition(offer)
        if (position === undefined) return true
        tagged++
        const { index, before, after, maxCharacters } = position
        const inserted = `${before}${sub.slice(0, maxCharacters)}${after}`
        const result = insertSub(link, position, sub)
        return (
          result.slice(index, index + inserted.length) === inserted &&
          result.slice(0, index) + result.slice(index + inserted.length) === link &&
          isUsableLink(result) === isUsableLink(link) &&
          (!isUsableLink(link) || new URL(result).host === new URL(link).host) &&
          shipped.findPosition({ network: offer.network, affiliateUrl: result }) === undefined
        )
      }),
      { numRuns: toRunCount(20_000) },
    )
    expect(tagged).toBeGreaterThan(0)
  })

  test('very long link - is examined in linear time', () => {
    const part = '&clickref=&clickref;?clickref/pubref:epi(/sid/'
    const link = `https://www.awin1.com/?a=1${part.repeat(50)}`
    expect(shipped.findPosition({ network: 'awin', affiliateUrl: link })).toBeUndefined()
    const longer = `https://www.awin1.com/?a=1${part.repeat(20_000)}`
    expect(tag(longer, shipped, 'awin')).toBe('too_long')
  })
})

test('no rules - no link has a position', () => {
  expect(
    NO_SUB_RULES.findPosition({ network: 'awin', affiliateUrl: 'https://www.awin1.com/' }),
  ).toBeUndefined()
  expect(tag('https://www.awin1.com/', createSubRules([]), 'awin')).toBe('no_rule')
})

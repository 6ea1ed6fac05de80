import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isUsableImage, isUsableLink, toUsableImage, toUsableLink } from '../../src/offers/links.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const OWN_ORIGIN = 'http://127.0.0.1:3000'

const USABLE = [
  'https://a.example',
  'https://a.example/',
  'http://a.example/c?u=https%3A%2F%2Fb.example%2F&x=1#f',
  'HTTPS://A.EXAMPLE/x',
  'https://a.example:8443/x',
  'https://[2001:db8::1]/x',
  'https://münchen.example/ä?ö=ü',
  'https://a.example/@user',
  'https://a.example/%zz',
  'https://a.example/?q=a,b;c=(d)!*$',
  "https://a.example/p?q=Levi's+jacket",
]

const NOT_USABLE = [
  '',
  'a.example',
  '/path',
  './path',
  '//a.example/x',
  'https:/a.example',
  'https:a.example',
  'https://',
  'https:///a.example',
  'https://?x',
  'http://a.example:99999/',
  'http://[::1/',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  '\tjava\nscript:alert(1)',
  'javascript://a.example/%0aalert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'blob:https://a.example/1',
  'file:///etc/passwd',
  'ftp://a.example/',
  'mailto:a@a.example',
  'intent://a.example#Intent;end',
  'view-source:https://a.example',
  'https://user@a.example/',
  'https://user:pass@a.example/',
  'https://:pass@a.example/',
  'https://a.example\\@evil.example/',
  'https:\\\\a.example/',
  '/\\evil.example',
  'https://a.example/\\x',
  'https://a.exa\tmple/',
  'https://a.example/\n',
  'https://a.example/\r\nX-Evil: 1',
  '\nhttps://a.example/',
  ' https://a.example/',
  'https://a.example/ x',
  'https://a.example/\u00a0x',
  'https://a.example/\u0000',
  'https://a.example/\u007f',
  'https://a.example/\ufffe',
  'https://a.example/\u{1ffff}',
  'https://a.example/"onmouseover=',
  'https://a.example/<x>',
  'https://a.example/`x`',
  'https://a b.example/',
  'https://a.example%2f@evil.example/',
  `https://a.example/${'x'.repeat(4_096)}`,
]

describe('link', () => {
  it.each(USABLE)('%s - usable', (address) => {
    expect(isUsableLink(address)).toBe(true)
  })

  // Node optimizes a function that is called often, and its fast `URL.canParse` rejects such hosts.
  it('host with non-ASCII letters, checked a hundred thousand times - still usable', () => {
    const results = Array.from({ length: 100_000 }, (_, n) =>
      isUsableLink(`https://münchen.example/${n % 7}`),
    )
    expect(results.indexOf(false)).toBe(-1)
  })

  it.each(NOT_USABLE)('%j - not usable', (address) => {
    expect(isUsableLink(address)).toBe(false)
  })
})

/** Not usable as they are: the form that a browser sends, `undefined` when it is not usable either. */
const ENCODED: readonly [address: string, expected: string | undefined][] = [
  ['https://shop.example/a b?x=ü', 'https://shop.example/a%20b?x=ü'],
  ['https://shop.example/a%20b c%zz+d', 'https://shop.example/a%20b%20c%zz+d'],
  [
    'https://go.example/c?u=https://shop.example/a b&t=1 2#f g',
    'https://go.example/c?u=https://shop.example/a%20b&t=1%202#f%20g',
  ],
  [' https://shop.example/x\n', 'https://shop.example/x'],
  ['https://shop.example/a\tb\r\nc', 'https://shop.example/abc'],
  ['\u0000https://shop.example/x \u0000', 'https://shop.example/x'],
  ['\ufeffhttps://shop.example/x', undefined],
  ['https://shop.example/\u00a0x', 'https://shop.example/%C2%A0x'],
  ['https://shop.example/"<x>`', 'https://shop.example/%22%3Cx%3E%60'],
  ['https://shop.example/a\\b?c\\d', 'https://shop.example/a/b?c%5Cd'],
  ['https://shop.example?a b', 'https://shop.example?a%20b'],
  ['https://shop.example/\u0000\u007f\ufffe', 'https://shop.example/%00%7F%EF%BF%BE'],
  ['https://a.example\\@evil.example/', 'https://a.example/@evil.example/'],
  ['https://a b.example/', undefined],
  ['https://user@a.example/a b', undefined],
  ['https://a.exa\tmple/', undefined],
  ['https:\\\\a.example/', undefined],
  ['https:///a.example/a b', undefined],
  [' javascript:alert(1)', undefined],
  ['/a b', undefined],
  [`https://a.example/${' '.repeat(1_400)}`, 'https://a.example/'],
  [`https://a.example/${' '.repeat(1_400)}x`, undefined],
]

/** Return the address that a browser requests. In queries, it sends these two as they are. */
const normalize = (address: string): string =>
  new URL(address).href.replaceAll('`', '%60').replaceAll('\\', '%5C')

describe('characters that a URL must encode', () => {
  it.each(ENCODED)('%j - is the link %j', (address, expected) => {
    expect(toUsableLink(address)).toBe(expected)
    expect(toUsableImage(address, OWN_ORIGIN)).toBe(expected)
  })

  it.each(USABLE)('%s - usable link - stays byte for byte', (address) => {
    expect(toUsableLink(address)).toBe(address)
  })

  it('any path, query and fragment - leads to the address that a browser requests', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), (text) => {
        const address = `https://shop.example/${text}.`
        const link = toUsableLink(address) ?? ''
        expect(isUsableLink(link)).toBe(true)
        expect(normalize(link)).toBe(normalize(address))
      }),
      { numRuns: toRunCount(2_000) },
    )
  })
})

describe('picture', () => {
  it.each([
    ['https://pictures.example/x.jpg', true],
    ['https://pictures.example:8443/x.jpg', true],
    ['http://pictures.example/x.jpg', false],
    ['http://127.0.0.1:3000/demo/pictures/lamp', true],
    ['http://127.0.0.1/demo/pictures/lamp', false],
    ['http://127.0.0.1:3001/x', false],
    ['http://127.0.0.1:3000.evil.example/x', false],
    ['http://localhost:3000/x', false],
    ['http://169.254.169.254/latest/meta-data', false],
    ['https://user:pass@pictures.example/x.jpg', false],
    ['data:image/png;base64,AAAA', false],
    ['data:image/svg+xml,<svg/onload=alert(1)>', false],
    ['javascript:alert(1)', false],
    ['//pictures.example/x.jpg', false],
    ['/x.jpg', false],
    ['https://pictures.example/"x', false],
    ['https://pictures.example/\\x', false],
    ['https://a.local-shop.example/a.local/x', true],
    ['https://internal.example/x.jpg', true],
    ['https://93.184.215.14/x.jpg', true],
    ['https://[2606:2800:21f:cb07::1]/x.jpg', true],
  ])('%s - %s', (address, expected) => {
    expect(isUsableImage(address, OWN_ORIGIN)).toBe(expected)
  })
})

describe('picture of a private host', () => {
  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '2130706433',
    '１２７.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.1.1',
    '192.168.1.1.',
    '198.19.0.1',
    '224.0.0.251',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[::127.0.0.1]',
    '[::ffff:192.168.1.1]',
    '[64:ff9b::c0a8:101]',
    '[2002:c0a8:101::1]',
    '[2001::1]',
    '[2001:0:c0a8:101::]',
    '[2001:1ff::1]',
    '[3fff:fff::1]',
    '192.88.99.1',
    '[fc00::1]',
    '[fd12:3456:789a::1]',
    '[fe80::1]',
    '[ff02::1]',
    'localhost',
    'LOCALHOST.',
    'shop.localhost',
    'printer.local',
    'printer.local.',
    'metadata.google.internal',
    'router.home.arpa',
    'intranet',
    'intranet.',
  ])('%s - is not used, with or without a port', (host) => {
    expect(isUsableImage(`https://${host}/x.jpg`, OWN_ORIGIN)).toBe(false)
    expect(isUsableImage(`https://${host}:8443/x.jpg`, OWN_ORIGIN)).toBe(false)
    expect(isUsableImage(`https://${host}`, OWN_ORIGIN)).toBe(false)
  })

  it('that is this server - is used', () => {
    expect(isUsableImage('https://intranet/demo/pictures/lamp', 'https://intranet')).toBe(true)
    expect(isUsableImage('https://intranet:8443/demo/pictures/lamp', 'https://intranet')).toBe(false)
  })
})

describe('fast path', () => {
  const label = fc.string({ unit: fc.constantFrom('a', 'b', 'x', 'n', '-', '1', '0', '.'), maxLength: 8 })
  const end = fc.string({
    unit: fc.constantFrom('a', '%', '@', ':', '/', '?', '#', ' ', '<', '\\', '"', 'é', '~', '^'),
    maxLength: 6,
  })
  const host = fc.oneof(
    label,
    fc.constantFrom('a.example', 'xn--a.example', 'a.b-c.de', '1.2.3.4', '1.2.3.999', 'a.1', 'a..b'),
    fc.constantFrom('a.local', 'a.local.', 'b.localhost', 'local.example', 'a.internal', 'home.arpa'),
  )

  it('any address - has the same result as the parser', () => {
    fc.assert(
      fc.property(host, fc.constantFrom('', ':80', ':99999', ':0'), end, (name, port, rest) => {
        // An upper-case scheme avoids the fast path.
        const tail = `://${name}${port}/${rest}`
        expect(isUsableLink(`https${tail}`)).toBe(isUsableLink(`HTTPS${tail}`))
        expect(isUsableImage(`https${tail}`, OWN_ORIGIN)).toBe(isUsableImage(`HTTPS${tail}`, OWN_ORIGIN))
      }),
      { numRuns: toRunCount(2_000) },
    )
  })
})

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openShopFile, readShopData } from '../../src/config/shop-file.ts'
import { ConfigError } from '../../src/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'vitrine-shops-'))
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0])
const WEBP = Buffer.from('RIFF\u0001\u0002\u0003\u0004WEBPVP8 ', 'latin1')

function write(name: string, content: string | Buffer): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, content)
  return path
}

const open = (path: string | null): ReturnType<typeof openShopFile> => openShopFile(readShopData(path))

const writeBook = (book: unknown): string => write('shops.json', JSON.stringify(book))

function findProblem(path: string): string {
  try {
    readShopData(path)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.join('\n')
    throw error
  }
  throw new Error('the file was accepted')
}

describe('shop file', () => {
  test('no path - a book without shops', () => {
    const { book, data } = open(null)
    expect(book.find('Kopje')).toBeUndefined()
    expect(book.expandNames(['kopje'])).toEqual(['kopje'])
    expect(data.logos).toEqual([])
  })

  test('every field - is read; logos are found beside the file', () => {
    write('logos/a.svg', SVG)
    write('logos/b.PNG', PNG)
    write('logos/c.webp', WEBP)
    const { book, data, findLogo } = open(
      writeBook({
        'Kopje DE': {
          name: 'Kopje',
          aliases: ['kopje.example'],
          logo: 'logos/a.svg',
          terms: 'Free delivery',
        },
        Brava: { logo: 'logos/b.PNG' },
        Cirro: { logo: 'logos/c.webp' },
        Plain: {},
      }),
    )
    const shop = book.find('KOPJE.example')
    expect(shop).toEqual({
      name: 'Kopje',
      logoPath: expect.stringMatching(/^\/logos\/[\da-f]{12}-[\da-f]{12}\.svg$/),
      terms: 'Free delivery',
    })
    expect(book.toKey('kopje.EXAMPLE')).toBe(book.toKey('Kopje de'))
    expect(book.find('Plain')).toEqual({ name: 'Plain', logoPath: null, terms: null })
    expect(data.logos.map(({ contentType }) => contentType).sort()).toEqual([
      'image/png',
      'image/svg+xml',
      'image/webp',
    ])
    expect(findLogo(shop?.logoPath?.slice('/logos/'.length) ?? '')?.body.toString()).toBe(SVG)
  })

  test('byte order mark and directional characters - are removed', () => {
    const path = write(
      'shops.json',
      `\uFEFF${JSON.stringify({ Kopje: { name: 'Ko\u202Epje', terms: ' a  b ' } })}`,
    )
    expect(open(path).book.find('kopje')).toEqual({ name: 'Kopje', logoPath: null, terms: 'a b' })
  })

  test('a changed logo - changes the digest and the address', () => {
    const path = writeBook({ Kopje: { logo: 'a.svg' } })
    write('a.svg', SVG)
    const before = open(path)
    write('a.svg', SVG.replace('0 0 1 1', '0 0 2 2'))
    const after = open(path)
    expect(after.data.digest).not.toBe(before.data.digest)
    const [oldName = '', newName = ''] = [before, after].map(
      ({ book }) => book.find('kopje')?.logoPath?.slice('/logos/'.length) ?? '',
    )
    expect(newName).not.toBe(oldName)
    // A cached page has the old name: it gets the current logo, briefly cached.
    expect(after.findLogo(oldName)).toMatchObject({ isImmutable: false, body: after.findLogo(newName)?.body })
    expect(after.findLogo(newName)?.isImmutable).toBe(true)
    expect(after.findLogo('0123456789ab-0123456789ab.svg')).toBeUndefined()
  })

  test.each<[string, unknown, RegExp]>([
    ['a list', [], /expected record/],
    ['an unknown field', { Kopje: { colour: 'red' } }, /"Kopje".*colour/],
    ['terms of 81 characters', { Kopje: { terms: 'x'.repeat(81) } }, /"Kopje" "terms".*80/],
    ['terms of two lines', { Kopje: { terms: 'a\nb' } }, /"terms".*one line/],
    ['an empty name', { Kopje: { name: ' ' } }, /"name"/],
    [
      'an alias of two shops',
      { Kopje: { aliases: ['K'] }, Brava: { aliases: ['k'] } },
      /"k" belongs to two shops/,
    ],
    ['an alias that is a shop', { Kopje: { aliases: ['brava'] }, Brava: {} }, /"brava" belongs to two shops/],
    ['a missing logo', { Kopje: { logo: 'none.svg' } }, /logo "none.svg" of "Kopje".*cannot be read/],
    ['a logo of another type', { Kopje: { logo: 'a.gif' } }, /must be a \.svg, \.png or \.webp file/],
    ['a logo that is not what its name says', { Kopje: { logo: 'shops.json.png' } }, /does not contain PNG/],
    ['a large logo', { Kopje: { logo: 'large.svg' } }, /larger than 100 kB/],
  ])('%s - is refused with its place', (_case, book, problem) => {
    write('shops.json.png', 'text')
    write('bare.svg', '<svg viewBox="0 0 1 1"/>')
    write('large.svg', SVG + ' '.repeat(100_000))
    expect(findProblem(writeBook(book))).toMatch(problem)
  })

  test('not JSON, or no file - is refused', () => {
    expect(findProblem(write('shops.json', '{'))).toMatch(/^VITRINE_SHOPS_FILE: the file is not JSON/)
    expect(() => readShopData(join(folder, 'absent.json'))).toThrow(
      expect.objectContaining({
        code: 'VITRINE_FILE_UNREADABLE',
        message: 'VITRINE_SHOPS_FILE: the file does not exist',
      }),
    )
    expect(findProblem(folder)).toMatch(/^VITRINE_SHOPS_FILE: it is a folder/)
    writeFileSync(join(folder, 'utf16.json'), '\ufeff{}', 'utf16le')
    expect(findProblem(join(folder, 'utf16.json'))).toBe(
      'VITRINE_SHOPS_FILE: the file is not UTF-8 text; save it as UTF-8',
    )
  })
})

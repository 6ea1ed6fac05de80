import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import iconv from 'iconv-lite'
import { describe, expect, it } from 'vitest'
import {
  addKopje,
  CHANNEL,
  createFeedCommand,
  GTINS,
  makeTable,
  run,
  runJson,
  SECRET,
  startFeedServer,
} from './feed-command.ts'
import { runCatalogCommand } from './test-command.ts'

const MIXED = `${makeTable(2)}12345,No GTIN,https://kopje.example/x,1.00 EUR\n`

describe('catalog feeds try', () => {
  it('file and address - rows, shops, currencies, rejects with reasons; nothing is stored', async () => {
    const under = createFeedCommand()
    const server = await startFeedServer(MIXED)
    const file = join(under.folder, 'feed.csv')
    writeFileSync(file, MIXED)
    for (const source of [file, `${server.url}/\${NETWORK_KEY}.csv`]) {
      under.out.length = 0
      await run(under, 'try', source, '--merchant', 'Kopje')
      expect(under.out.slice(0, 5)).toEqual([
        'google-csv, utf-8: 3 rows, 2 usable, 1 reject; 33 % of the rows have no valid GTIN',
        'shops: Kopje (2)',
        'currencies: EUR (2)',
        expect.stringMatching(/^There are no tracking links: /),
        `row 2: ${GTINS[0] ?? ''}  Lamp`,
      ])
      expect(under.out.at(-1)).toMatch(/^ {4}1 x gtin: not 8, 12, 13 or 14 digits; first in row 4: 12345,/)
      expect(under.out.join('')).not.toContain(SECRET)
    }
    expect(await runJson(under, 'list')).toEqual([])
  })

  it('currency, decimal sign and encoding - are used, as in add, set and import', async () => {
    const under = createFeedCommand()
    const title = 'Łódź żółta'
    const table = `gtin;title;link;price\n${GTINS[0] ?? ''};${title};https://kopje.example/1;1.299\n`
    const file = join(under.folder, 'feed.csv')
    writeFileSync(file, iconv.encode(table, 'windows-1250'))
    const reading = ['--currency', 'pln', '--decimal', ',', '--encoding', 'cp1250']
    expect(await runJson(under, 'try', file, ...reading)).toMatchObject({
      encoding: 'windows-1250',
      examples: [{ title, offers: [{ price: '1299', currency: 'PLN' }] }],
    })
    await runCatalogCommand(under, 'import', file, '--channel', CHANNEL, ...reading)
    const server = await startFeedServer(makeTable(1))
    await addKopje(under, server, ...reading)
    await run(under, 'set', 'kopje', '--encoding', 'none', '--decimal', '.')
    expect(await runJson(under, 'list')).toMatchObject([
      { name: 'feed', currency: 'PLN', decimal: ',', encoding: 'windows-1250', offers: 1 },
      { name: 'kopje', currency: 'PLN', decimal: '.', encoding: null },
    ])
    under.out.length = 0
    await run(under, 'list')
    expect(under.out.join('\n')).toContain('; currency PLN, decimal ,, encoding windows-1250')
  })

  it('guessed encoding - is said, with the option', async () => {
    const under = createFeedCommand()
    const file = join(under.folder, 'feed.csv')
    writeFileSync(file, Buffer.from(makeTable(1).replace('Lamp', 'Lämp'), 'latin1'))
    await run(under, 'try', file)
    await runCatalogCommand(under, 'import', file, '--channel', CHANNEL)
    expect(under.err.join('\n')).toContain('The encoding windows-1252 is guessed.')
    expect(under.out[1]).toBe(
      'The encoding windows-1252 is guessed. If letters are wrong, set the right one with --encoding.',
    )
  })

  it('address with a header file - is fetched with its headers', async () => {
    const under = createFeedCommand()
    const [server, headerFile] = [await startFeedServer(MIXED), join(under.folder, 'headers')]
    writeFileSync(headerFile, 'Authorization: Bearer ${NETWORK_KEY}\n')
    await run(under, 'try', server.url, '--header-file', headerFile)
    await runCatalogCommand(under, 'import', server.url, '--channel', CHANNEL, '--header-file', headerFile)
    expect(server.authorizations).toEqual([`Bearer ${SECRET}`, `Bearer ${SECRET}`])
  })

  it('layout of a format - is named', async () => {
    const under = createFeedCommand()
    const file = join(under.folder, 'feed.xml')
    writeFileSync(
      file,
      `<products><product><TDProductId>1</TDProductId><name>T</name><ean>${GTINS[0]}</ean><price>1.00</price><currency>EUR</currency><productUrl>https://track.example/1</productUrl><programName>Kopje</programName></product></products>`,
    )
    await run(under, 'try', file)
    expect(under.out[0]).toMatch(/^tradedoubler \(layout: flat\), utf-8: 1 row, 1 usable/)
  })

  it('no tracking link - names the columns that should have one', async () => {
    const under = createFeedCommand()
    const file = join(under.folder, 'awin.csv')
    const header = 'aw_deep_link,product_name,ean,merchant_name,search_price,currency,merchant_deep_link'
    const row = `Lamp,${GTINS[0]},Kopje,1.00,EUR,https://kopje.example/1`
    writeFileSync(file, `${header}\n,${row}\n`)
    await run(under, 'try', file)
    expect(under.out[3]).toMatch(/^There are no tracking links \(in aw_deep_link/)
    writeFileSync(file, `${header}\n,${row}\nhttps://track.example/1,${row}\n`)
    under.out.length = 0
    await run(under, 'try', file)
    expect(under.out.join()).not.toContain('no tracking links')
  })

  it('name of a feed - is fetched and read with its settings, which options replace', async () => {
    const under = createFeedCommand()
    const [server, headerFile] = [await startFeedServer(makeTable(1, '1.299')), join(under.folder, 'headers')]
    writeFileSync(headerFile, 'Authorization: Bearer ${NETWORK_KEY}\n')
    await addKopje(under, server, '--decimal', ',', '--merchant', 'Kopje', '--header-file', headerFile)
    expect(await runJson(under, 'try', 'kopje')).toMatchObject({
      examples: [{ offers: [{ merchant: 'Kopje', price: '1299' }] }],
    })
    expect(await runJson(under, 'try', 'kopje', '--decimal', '.')).toMatchObject({
      examples: [{ offers: [{ merchant: 'Kopje', price: '1.299' }] }],
    })
    expect(server.authorizations).toEqual([`Bearer ${SECRET}`, `Bearer ${SECRET}`])
    await expect(run(under, 'try', 'nothing')).rejects.toThrow('there is no file and no feed "nothing"')
    await expect(run(under, 'try', 'nothing.csv')).rejects.toThrow('there is no such file')
  })

  it('column map - the fields of the file', async () => {
    const under = createFeedCommand()
    const [file, map] = [join(under.folder, 'feed.csv'), join(under.folder, 'map.json')]
    writeFileSync(file, `code;name;cost;address\n${GTINS[0] ?? ''};Lampe;12,50;https://kopje.example/1\n`)
    const fields = {
      gtin: 'code',
      title: 'name',
      price: 'cost',
      pageLink: 'address',
      currency: { value: 'EUR' },
      merchant: { value: 'Kopje' },
    }
    writeFileSync(map, JSON.stringify({ format: 'table', decimal: ',', fields }))
    expect(await runJson(under, 'try', file, '--map', map)).toMatchObject({
      format: 'map',
      usable: 1,
      shops: [{ name: 'Kopje', count: 1 }],
      examples: [{ row: 2, title: 'Lampe', offers: [{ price: '12.50', currency: 'EUR' }] }],
    })
    writeFileSync(map, '{"format":"table","fields":{"gtim":"code"}}')
    await expect(run(under, 'try', file, '--map', map)).rejects.toMatchObject({ code: 'VITRINE_USAGE' })
  })

  it('map and header file with a byte order mark - are read; in UTF-16 - are refused', async () => {
    const under = createFeedCommand()
    const [headerFile, map] = [join(under.folder, 'headers'), join(under.folder, 'map.json')]
    writeFileSync(headerFile, '\ufeffAuthorization: Bearer ${NETWORK_KEY}\n')
    writeFileSync(map, '\ufeff{"decimal":","}')
    const server = await startFeedServer(makeTable(1, '1.299'))
    await addKopje(under, server, '--merchant', 'Kopje', '--header-file', headerFile)
    expect(await runJson(under, 'try', 'kopje', '--map', map)).toMatchObject({
      examples: [{ offers: [{ price: '1299' }] }],
    })
    expect(server.authorizations).toEqual([`Bearer ${SECRET}`])
    for (const file of [headerFile, map]) writeFileSync(file, '\ufeff{}', 'utf16le')
    await expect(run(under, 'try', 'kopje')).rejects.toThrow('is not UTF-8 text; save it as UTF-8')
    await expect(run(under, 'try', 'kopje', '--map', map)).rejects.toThrow(`--map: ${map} is not UTF-8 text`)
  })
})

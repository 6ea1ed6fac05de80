import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS, systemClock } from '../../src/clock.ts'
import { type Environment, parseConfig } from '../../src/config/config.ts'
import { toDay } from '../../src/offers/price-history.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'
import { makePage } from '../storage/conformance/subject.ts'
import { type CommandResult, makeFolder, makeSettings, runInProcess, startRemoteCatalog } from './run-cli.ts'

const HEADER = 'channel,gtin,merchant,currency,from,until,low,last,source'
const GTIN = '09521234567899'
const OTHER_ID = '952a0000-0000-4000-8000-0000000000ee'

const toIsoDay = (daysAgo: number): string =>
  new Date(systemClock.nowMs() - daysAgo * DAY_MS).toISOString().slice(0, 10)

/** Build a row of days before today. */
const makeRow = (from: number, until: number, over: Readonly<Record<string, string>> = {}): string => {
  const cells = {
    channel: CHANNEL_ID,
    gtin: GTIN,
    merchant: 'kopje',
    currency: 'EUR',
    from: toIsoDay(from),
    until: toIsoDay(until),
    low: '49.9',
    last: '49.9',
    source: 'imported',
  }
  return Object.values(Object.assign(cells, over)).join(',')
}

describe('history', () => {
  let folder: string
  let settings: Environment
  beforeEach(async () => {
    folder = makeFolder()
    settings = (await startRemoteCatalog(folder)).settings
  })

  const run = (...args: string[]): Promise<CommandResult> => runInProcess(['history', ...args], settings)

  async function exportRows(): Promise<readonly string[]> {
    const { code, out } = await run('export')
    expect(code).toBe(0)
    return out.split('\n')
  }

  function writeRows(...rows: readonly string[]): string {
    const file = join(folder, 'prices.csv')
    writeFileSync(file, `${[HEADER, ...rows].join('\n')}\n`)
    return file
  }

  async function importRows(...rows: readonly string[]): Promise<CommandResult> {
    return run('import', writeRows(...rows))
  }

  /** Import rows that are invalid; return the error output. */
  async function importInvalid(...rows: readonly string[]): Promise<string> {
    const { code, out, err } = await importRows(...rows)
    expect([code, out]).toEqual([1, ''])
    expect(existsSync(join(folder, 'copy.db'))).toBe(false)
    return err
  }

  async function withStore(work: (store: StoredCopy) => Promise<void>): Promise<void> {
    const { config } = parseConfig(settings)
    const { database, history } = config
    const store = await openStoredCopy({ database, catalog: settings['VITRINE_CATALOG_URL'] ?? '', history })
    await work(store)
    await store.close()
  }

  /** Walk the product, sold by one shop. */
  const walk = (daysAgo: number, price: string): Promise<void> =>
    withStore(async (store) => {
      const asOfMs = systemClock.nowMs() - daysAgo * DAY_MS
      const products = [makeProduct({ gtin: GTIN, offers: [makeParsedOffer({ merchant: 'Kopje', price })] })]
      const { walk: number } = await store.beginWalk(CHANNEL_ID, { nowMs: asOfMs, resumableSinceMs: asOfMs })
      await store.applyPage(CHANNEL_ID, makePage(number, products, { asOfMs }))
      await store.completeWalk(CHANNEL_ID, number, { nowMs: asOfMs, isMalformed: false })
    })

  it('export - own days with a gap - a row for each run', async () => {
    for (const [daysAgo, price] of [
      [6, '49.90'],
      [5, '49.90'],
      [3, '49.90'],
      [2, '45.00'],
    ] as const)
      await walk(daysAgo, price)
    const { code, out, err } = await run('export')
    expect([code, err]).toEqual([0, '3 rows of 1 product in 1 channel.\n'])
    expect(out.split('\n')).toEqual([
      HEADER,
      makeRow(6, 5, { source: 'observed' }),
      makeRow(3, 3, { source: 'observed' }),
      makeRow(2, 2, { low: '45', last: '45', source: 'observed' }),
    ])
  })

  it('export --output - then import into an empty copy - the same rows, marked as imported', async () => {
    await walk(4, '49.90')
    await walk(3, '45.00')
    const file = join(folder, 'prices.csv')
    const { code, out } = await run('export', '--output', file, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual({ file, rows: 2, products: 1, channels: 1 })
    const text = readFileSync(file, 'utf8')
    settings = Object.assign({}, settings, makeSettings(mkdtempSync(join(folder, 'new-'))))
    const imported = await run('import', file)
    expect([imported.code, imported.out]).toEqual([0, '2 rows of 2 imported'])
    expect(imported.err).toContain(`does not know the channel ${CHANNEL_ID} yet`)
    expect(`${(await exportRows()).join('\n')}\n`).toBe(text.replaceAll('observed', 'imported'))
  })

  it('export --output - file that cannot be written - an error, and no half file', async () => {
    await walk(4, '49.90')
    const { code, err } = await run('export', '--output', join(folder, 'missing', 'prices.csv'))
    expect([code, err]).toEqual([1, expect.stringContaining('cannot be written (ENOENT)')])
    // A folder cannot be replaced by a file.
    const taken = mkdtempSync(join(folder, 'taken-'))
    writeFileSync(join(taken, 'other'), '')
    expect((await run('export', '--output', taken)).code).toBe(1)
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  it('import that is stopped before a batch - says how many rows are imported, and can be repeated', async () => {
    const file = writeRows(makeRow(9, 5))
    // Aborted once the store is open, which is after the rows are checked.
    const signal = Object.defineProperty(new AbortController().signal, 'aborted', {
      get: () => existsSync(join(folder, 'copy.db')),
    })
    const { code, err } = await runInProcess(['history', 'import', file], settings, signal)
    expect([code, err]).toEqual([1, expect.stringContaining('stopped after 0 rows; repeat it')])
    expect((await run('export')).out).not.toContain('kopje')
    expect((await run('import', file)).out).toContain('1 row of 1 imported')
  })

  it('export --channel - only this channel; an unknown one is an error', async () => {
    await importRows(...[makeRow(9, 5, { channel: OTHER_ID }), makeRow(9, 5)].sort())
    const { out } = await run('export', '--channel', OTHER_ID.toUpperCase())
    expect(out.split('\n')).toEqual([HEADER, makeRow(9, 5, { channel: OTHER_ID })])
    const unknown = await run('export', '--channel', OTHER_ID.replace('ee', 'ff'))
    expect([unknown.code, unknown.err]).toEqual([64, expect.stringContaining('has no channel')])
  })

  it('export - no stored copy, or --json without a file - wrong usage', async () => {
    const missing = await run('export')
    expect([missing.code, missing.err]).toEqual([64, expect.stringContaining('there is no stored copy at')])
    const json = await run('export', '--json')
    expect([json.code, json.err]).toEqual([64, expect.stringContaining('with --json')])
  })

  it('more than 100,000 rows of one product - refused, nothing is written', async () => {
    const rows = Array.from({ length: 100_001 }, (_, index) => makeRow(3, 3, { merchant: `shop ${index}` }))
    expect(await importInvalid(...rows)).toContain('over 100000 rows of one product, at row 100002')
  })

  it('names of shops - formulas, quotes, commas and apostrophes - are safe in a spreadsheet, and exact', async () => {
    const names = ['=1+1', '@home', '-10% shop', "'=x", '＝1', "'s grocer", 'a, b "c"', 'a;=1', 'crème']
    await withStore(async (store) => {
      const day = toDay(systemClock.nowMs()) - 3
      const prices = { day, untilDay: day, low: 10_000, last: 10_000, isImported: true, currency: 'EUR' }
      await store.importRuns(
        CHANNEL_ID,
        names.map((merchantKey) => ({ gtin: GTIN, merchantKey, ...prices })),
      )
    })
    const before = await exportRows()
    const cells = before
      .slice(1)
      .map((row) =>
        row.slice(`${CHANNEL_ID},${GTIN},`.length, -',EUR,2026-01-01,2026-01-01,1,1,imported'.length),
      )
    expect(cells.toSorted()).toEqual(
      [
        "'=1+1",
        "'@home",
        "'-10% shop",
        "''=x",
        "'＝1",
        "'s grocer",
        '"a, b ""c"""',
        '"a;=1"',
        'crème',
      ].sort(),
    )
    const file = join(folder, 'names.csv')
    await run('export', '--output', file)
    settings = Object.assign({}, settings, makeSettings(mkdtempSync(join(folder, 'new-'))))
    expect((await run('import', file)).code).toBe(0)
    expect(await exportRows()).toEqual(before)
  })

  it('import - other order of columns, short GTIN, capital letters, gzip, no source - is understood', async () => {
    const file = join(folder, 'prices.csv.gz')
    const lines = [
      '\ufeffGTIN,Merchant,Until,From,Last,Low,Currency,Channel',
      `9521234567899,KOPJE,${toIsoDay(5)},${toIsoDay(9)},,49.90,eur,${CHANNEL_ID.toUpperCase()}`,
    ]
    writeFileSync(file, gzipSync(lines.join('\r\n')))
    expect((await run('import', file)).code).toBe(0)
    expect(await exportRows()).toEqual([HEADER, makeRow(9, 5, { last: '' })])
  })

  it('import - twice, with old and own days - says what was skipped, and changes nothing the second time', async () => {
    await walk(5, '49.90')
    const rows = [makeRow(500, 450), makeRow(20, 6, { low: '40', last: '40' }), makeRow(5, 2)]
    const { code, out } = await importRows(...rows)
    expect([code, out]).toEqual([
      0,
      '1 row of 3 imported; 1 row older than 400 days skipped; 1 row skipped, because this server has observed these prices itself',
    ])
    const before = await exportRows()
    expect(before).toEqual([
      HEADER,
      makeRow(20, 6, { low: '40', last: '40' }),
      makeRow(5, 5, { source: 'observed' }),
    ])
    const second = await run('import', writeRows(...rows), '--json')
    expect(JSON.parse(second.out)).toMatchObject({
      rows: 3,
      imported: 1,
      old: 1,
      observed: 1,
      newChannels: [],
    })
    expect(await exportRows()).toEqual(before)
  })

  it.each([
    ['channel', { channel: 'mine' }, 'channel is not the id of a channel'],
    ['GTIN', { gtin: '12a' }, 'gtin is not 1 to 14 digits'],
    ['merchant', { merchant: ' ' }, 'merchant is empty or too long'],
    ['currency', { currency: 'euro' }, 'currency is not a code such as EUR'],
    ['date', { from: '2026-02-30' }, 'from and until are not dates such as 2026-01-31'],
    ['order of dates', { from: '2026-02-03', until: '2026-02-01' }, 'from is later than until'],
    ['future', { until: toIsoDay(-1) }, 'until is in the future'],
    ['low', { low: '0' }, 'low is not a price such as 12.90'],
    ['last', { last: '5e3' }, 'last is not a price such as 12.90, or empty'],
    ['low above last', { low: '50' }, 'low is above last'],
    ['too large', { low: '999999999999.9999' }, 'low is not a price such as 12.90'],
    ['cells', { source: 'imported,more' }, 'has 10 cells, the header has 9'],
  ])('import, invalid %s - the row and the reason; nothing is written', async (_case, over, reason) => {
    const err = await importInvalid(makeRow(30, 20), makeRow(9, 5, over))
    expect(err).toContain(`Row 3: ${reason}\n`)
    expect(err).toContain('has 1 invalid row; nothing was imported')
  })

  it('import, overlapping or unsorted rows - are errors', async () => {
    const err = await importInvalid(
      makeRow(9, 5),
      makeRow(30, 9),
      makeRow(30, 9, { merchant: 'other' }),
      makeRow(9, 5, { gtin: '00000000000017' }),
    )
    expect(err).toContain('Row 5: the rows must be sorted by channel and gtin, as in an export\n')
    expect(err).toContain('Row 2: its days overlap with row 3\n')
  })

  it('import, many invalid rows - the first ten and the count', async () => {
    const err = await importInvalid(...Array.from({ length: 25 }, () => makeRow(9, 5, { low: 'x' })))
    expect(err.match(/Row \d+:/g)).toHaveLength(10)
    expect(err).toContain('has 25 invalid rows')
  })

  it('import, file without a column, with another one, or missing - an error', async () => {
    const file = join(folder, 'prices.csv')
    for (const [text, message] of [
      ['gtin,merchant\n', 'lacks the column channel, currency, from, until, low, last'],
      [`${HEADER},stock\n`, 'has an unknown column'],
    ] as const) {
      writeFileSync(file, text)
      expect(await run('import', file)).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining(message),
      })
    }
    expect((await run('import', join(folder, 'none.csv'))).code).toBe(1)
  })

  it.each([['import', 'prices.csv'], ['export']])('%s - no days are kept - wrong usage', async (...args) => {
    await walk(4, '49.90')
    settings = Object.assign({}, settings, { VITRINE_HISTORY_DAYS: '0' })
    const { code, err } = await run(...args)
    expect([code, err]).toEqual([64, expect.stringContaining('VITRINE_HISTORY_DAYS is 0')])
  })
})

import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import request from 'supertest'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { CHANNEL_ID, FAKE_KEY, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { type Running, makeFolder, makeSettings, runBuilt, startBuilt, startRemote } from './cli-harness.ts'

type Addresses = { publicUrl: string; studio: string | null; box: string | null; grid: string | null }

const readAddresses = async (running: Running): Promise<Addresses> =>
  JSON.parse(await running.firstLine) as Addresses

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

async function expectShown(address: string | null): Promise<void> {
  const { status, headers } = await request(address ?? 'nowhere').get('')
  expect([status, headers['vitrine-state']]).toEqual([200, 'shown'])
}

describe('serve, embedded catalog', () => {
  it('first start - prints addresses that open; SIGTERM ends it with 0 within 2 s; nothing is left in -wal', async () => {
    const folder = makeFolder()
    const running = startBuilt(['serve', '--json'], makeSettings(folder))
    const { publicUrl, studio, box, grid } = await readAddresses(running)
    await expectShown(box)
    await expectShown(grid)
    expect((await request(studio ?? '').get('')).status).toBe(200)
    expect((await request(publicUrl).get('/readyz')).status).toBe(200)
    const { code, tookMs } = await running.stop('SIGTERM')
    expect(code).toBe(0)
    expect(tookMs).toBeLessThan(2_000)
    for (const file of ['copy.db', 'catalog.db', 'catalog-usage.db']) {
      expect([file, sizeOf(join(folder, file)) > 0, sizeOf(join(folder, `${file}-wal`))]).toEqual([
        file,
        true,
        0,
      ])
    }
    expect(running.said().trim().split('\n')).toHaveLength(1)
  })

  it('second start, then Ctrl-C - the same box from the stored copy, and 0 again', async () => {
    const settings = makeSettings(makeFolder())
    const first = startBuilt(['serve', '--json'], settings)
    const before = await readAddresses(first)
    await first.stop('SIGINT')
    const second = startBuilt(['serve', '--json'], settings)
    const after = await readAddresses(second)
    expect(new URL(after.box ?? '').pathname).toBe(new URL(before.box ?? '').pathname)
    await expectShown(after.box)
    expect((await second.stop('SIGINT')).code).toBe(0)
  })

  it('told to stop before the walk has ended - 0', async () => {
    const running = startBuilt(['serve', '--json'], makeSettings(makeFolder(), { VITRINE_LOG_LEVEL: 'info' }))
    await vi.waitFor(() => expect(running.said()).toContain('listening'), { timeout: 20_000 })
    expect((await running.stop('SIGTERM')).code).toBe(0)
  })

  it('sentences - without --json - name every address', async () => {
    const running = startBuilt(['serve'], makeSettings(makeFolder()))
    await running.firstLine
    await vi.waitFor(() => expect(running.said()).toContain('Ctrl-C'), { timeout: 20_000 })
    expect(running.said()).toMatch(/\/studio\n[^]*\/where-to-buy\/\d{14}\n[^]*\/deals\n/)
  })

  it.each([
    ['stored copy', { VITRINE_DATABASE_URL: 'sqlite:/proc/none/x.db' }],
    ['catalog database', { VITRINE_CATALOG_DATABASE_URL: 'sqlite:/proc/none/x.db' }],
  ])('%s cannot be opened - 1, and the process ends', async (_name, over) => {
    const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), over))
    expect(code).toBe(1)
    expect(err).toContain('VITRINE_STORE_FAILED')
  })

  it('port taken - 64', async () => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const port = String((other.address() as AddressInfo).port)
    const { code, err } = await runBuilt(['serve'], makeSettings(makeFolder(), { VITRINE_PORT: port }))
    expect(code).toBe(64)
    expect(err).toContain('VITRINE_PORT')
  })

  it('VITRINE_HOST 0.0.0.0 and ::1 - the printed address opens', async () => {
    for (const host of ['0.0.0.0', '::1']) {
      const running = startBuilt(['serve', '--json'], makeSettings(makeFolder(), { VITRINE_HOST: host }))
      await expectShown((await readAddresses(running)).box)
      expect((await running.stop('SIGTERM')).code).toBe(0)
    }
  })
})

describe('serve, another catalog', () => {
  it('catalog down at the start - says so, stays alive, is not ready', async () => {
    const { catalog, settings } = await startRemote(makeFolder())
    catalog.fault = {
      matches: /./,
      does: (_request, response) => sendJson(response, 429, { error: FAKE_KEY }),
    }
    const running = startBuilt(['serve', '--json'], { ...settings, VITRINE_LOG_LEVEL: 'trace' })
    const addresses = await readAddresses(running)
    expect(addresses).toMatchObject({ studio: null, box: null, grid: null })
    expect((await request(addresses.publicUrl).get('/readyz')).status).toBe(503)
    expect((await request(addresses.publicUrl).get('/healthz')).status).toBe(200)
    expect((await running.stop('SIGTERM')).code).toBe(0)
    expect(running.said()).not.toContain(FAKE_KEY)
  })

  it('key file - changed, then SIGHUP - the next call has the new key, at once', async () => {
    const folder = makeFolder()
    const { catalog, settings } = await startRemote(folder)
    const file = join(folder, 'key')
    writeFileSync(file, 'revoked-key')
    const { VITRINE_CATALOG_KEY: _key, ...rest } = settings
    catalog.products.set(CHANNEL_ID, [makeWireProduct({ offers: [makeWireOffer({ old_price: '60' })] })])
    const running = startBuilt(['serve', '--json'], { ...rest, VITRINE_CATALOG_KEY_FILE: file })
    const { publicUrl } = await readAddresses(running)
    expect(catalog.calls.length).toBeGreaterThan(0)
    writeFileSync(file, FAKE_KEY)
    running.child.kill('SIGHUP')
    const box = `/embeds/${CHANNEL_ID}/where-to-buy/9521234567899`
    await vi.waitFor(
      async () => {
        expect((await request(publicUrl).get(box)).headers['vitrine-state']).toBe('shown')
      },
      { timeout: 3_000, interval: 100 },
    )
    expect(readFileSync(file, 'utf8')).toBe(FAKE_KEY)
    expect((await running.stop('SIGTERM')).code).toBe(0)
  })
})

import { statSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import request from 'supertest'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { computeCheckDigit } from '../../../src/offers/gtin.ts'
import { CHANNEL_ID, FAKE_KEY, sendJson } from '../../helpers/fake-catalog.ts'
import {
  type RunningCommand,
  makeFolder,
  makeSettings,
  runBuilt,
  startBuilt,
  startRemoteCatalog,
} from '../../cli/run-cli.ts'

type Addresses = { publicUrl: string; studio: string | null; box: string | null; grid: string | null }

const readAddresses = async (running: RunningCommand): Promise<Addresses> =>
  JSON.parse(await running.firstLine) as Addresses

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

async function expectShown(address: string | null): Promise<void> {
  const { status, headers } = await request(address ?? 'nowhere').get('')
  expect([status, headers['vitrine-state']]).toEqual([200, 'shown'])
}

describe('serve, embedded catalog', () => {
  it('first start - prints working addresses; exit code 0 after SIGTERM; the -wal files are empty', async () => {
    const folder = makeFolder()
    const running = startBuilt(['serve', '--json'], makeSettings(folder))
    const { publicUrl, studio, box, grid } = await readAddresses(running)
    await expectShown(box)
    await expectShown(grid)
    expect((await request(studio ?? '').get('')).status).toBe(200)
    expect((await request(publicUrl).get('/readyz')).status).toBe(200)
    expect((await running.stop('SIGTERM')).code).toBe(0)
    for (const file of ['copy.db', 'catalog.db', 'catalog-usage.db']) {
      expect([file, sizeOf(join(folder, file)) > 0, sizeOf(join(folder, `${file}-wal`))]).toEqual([
        file,
        true,
        0,
      ])
    }
    expect(running.output().trim().split('\n')).toHaveLength(1)
  })

  it.each(['1', '2'])('all proxies trusted, %s workers - one warning at the start', async (workers) => {
    const over = { VITRINE_TRUST_PROXY: 'true', VITRINE_WORKERS: workers, VITRINE_LOG_LEVEL: 'warn' }
    const running = startBuilt(['serve', '--json'], makeSettings(makeFolder(), over))
    await running.firstLine
    expect((await running.stop('SIGINT')).code).toBe(0)
    await vi.waitFor(() => expect(running.output().split('VITRINE_TRUST_PROXY=true accepts')).toHaveLength(2))
  })

  it('second start, then Ctrl-C - the same box from the stored copy, and exit code 0', async () => {
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

  it('stopped during the walk - 0', async () => {
    const running = startBuilt(['serve', '--json'], makeSettings(makeFolder(), { VITRINE_LOG_LEVEL: 'info' }))
    await vi.waitFor(() => expect(running.output()).toContain('listening'))
    expect((await running.stop('SIGINT')).code).toBe(0)
  })

  it('started by npm, whose shell does not forward SIGTERM - ends with the shell', async () => {
    const settings = makeSettings(makeFolder(), { npm_lifecycle_event: 'start' })
    const running = startBuilt(['serve', '--json'], settings, { isInShell: true })
    const { box } = await readAddresses(running)
    await expectShown(box)
    await running.stop('SIGTERM')
    await vi.waitFor(() => expect(request(box ?? 'nowhere').get('')).rejects.toThrow('ECONNREFUSED'))
  })

  it('public address elsewhere - the start page is printed with an address that opens', async () => {
    const settings = makeSettings(makeFolder(), { VITRINE_PUBLIC_URL: 'https://widgets.example' })
    const { studio, box } = await readAddresses(startBuilt(['serve', '--json'], settings))
    expect(studio).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/studio$/)
    expect((await request(studio ?? 'nowhere').get('')).status).toBe(200)
    expect(box).toMatch(/^https:\/\/widgets\.example\/embeds\//)
  })

  it('sync by another process with another port - the pictures of the sample data stay', async () => {
    const folder = makeFolder()
    const { grid } = await readAddresses(startBuilt(['serve', '--json'], makeSettings(folder)))
    const countPictures = async (): Promise<number> =>
      (await request(grid ?? 'nowhere').get('')).text.split('<img').length - 1
    const before = await countPictures()
    expect(before).toBeGreaterThan(5)
    expect(await runBuilt(['sync'], makeSettings(folder, { VITRINE_PORT: '3999' }))).toMatchObject({
      code: 0,
    })
    expect(await countPictures()).toBe(before)
  })

  it('without --json - sentences with every address', async () => {
    const running = startBuilt(['serve'], makeSettings(makeFolder()))
    await running.firstLine
    await vi.waitFor(() => expect(running.output()).toContain('Vitrine is ready.'))
    // No terminal.
    expect(running.output()).not.toContain('Ctrl-C')
    await vi.waitFor(() =>
      expect(running.output()).toMatch(/\/studio\n[^]*\/where-to-buy\/\d{14}\n[^]*\/deals\n/),
    )
  })

  it('feed that cannot be fetched at the first start - is named, with the reason', async () => {
    const settings = makeSettings(makeFolder(), { VITRINE_LOG_LEVEL: 'info' })
    const server = createHttpServer((_request, response) => response.writeHead(404).end())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.csv`
    expect(await runBuilt(['catalog', 'channels', 'add', 'Magazine', '--json'], settings)).toMatchObject({
      code: 0,
    })
    expect(await runBuilt(['catalog', 'feeds', 'add', 'kopje', '--url', url], settings)).toMatchObject({
      code: 0,
    })
    expect(await runBuilt(['catalog', 'feeds', 'run', 'kopje'], settings)).toMatchObject({ code: 1 })
    const running = startBuilt(['serve'], settings)
    await vi.waitFor(() =>
      expect(running.output()).toMatch(
        /Vitrine runs, but has no product to show\.[^]*feed kopje: failed, http:\S+ responded with status 404/,
      ),
    )
    expect(await running.stop('SIGTERM')).toEqual({ code: 0 })
    expect(running.output()).toContain('"msg":"stopping"')
  })

  it('catalog database cannot be opened - 1, and the process ends', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'file'), '')
    const over = { VITRINE_CATALOG_DATABASE_URL: `sqlite:${folder}/file/x.db` }
    const { code, err } = await runBuilt(['serve'], makeSettings(folder, over))
    expect(code).toBe(1)
    expect(err).toBe(
      `vitrine: Cannot open the database "${folder}/file/x.db": "${folder}/file" is not a folder. Choose another path. (VITRINE_STORE_FAILED)\n`,
    )
  })

  it('VITRINE_HOST 0.0.0.0 and ::1 - the printed address opens', async () => {
    for (const host of ['0.0.0.0', '::1']) {
      const running = startBuilt(['serve', '--json'], makeSettings(makeFolder(), { VITRINE_HOST: host }))
      await expectShown((await readAddresses(running)).box)
      expect((await running.stop('SIGINT')).code).toBe(0)
    }
  })
})

describe('serve, another catalog', () => {
  it('catalog down at the start - reports it, keeps running, is not ready', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => sendJson(response, 429, { error: FAKE_KEY }),
    }
    const running = startBuilt(['serve', '--json'], { ...settings, VITRINE_LOG_LEVEL: 'trace' })
    const addresses = await readAddresses(running)
    expect(addresses).toMatchObject({ studio: null, box: null, grid: null })
    expect((await request(addresses.publicUrl).get('/readyz')).status).toBe(503)
    expect((await request(addresses.publicUrl).get('/healthz')).status).toBe(200)
    expect((await running.stop('SIGINT')).code).toBe(0)
    expect(running.output()).not.toContain(FAKE_KEY)
  })

  it('SIGHUP after a change of the key file - the next call has the new key, without a 401', async () => {
    const folder = makeFolder()
    const { catalog, settings } = await startRemoteCatalog(folder)
    const file = join(folder, 'key')
    writeFileSync(file, 'old-key')
    catalog.fault = {
      pathPattern: /./,
      respond: (call, response) =>
        call.url === '/v0/channels'
          ? sendJson(response, 200, { items: catalog.channels })
          : sendJson(response, 404, { error: 'none' }),
    }
    const running = startBuilt(['serve', '--json'], {
      ...settings,
      VITRINE_CATALOG_KEY: undefined,
      VITRINE_CATALOG_KEY_FILE: file,
      VITRINE_SYNC_CRON: 'off',
    })
    const { publicUrl } = await readAddresses(running)
    writeFileSync(file, 'new-key')
    running.child.kill('SIGHUP')
    let item = 100
    await vi.waitFor(async () => {
      const first13 = String(item++).padStart(13, '0')
      await request(publicUrl).get(
        `/fragments/${CHANNEL_ID}/where-to-buy/${first13}${computeCheckDigit(first13)}`,
      )
      expect(catalog.calls.at(-1)?.headers.authorization).toBe('Bearer new-key')
    })
    expect(catalog.calls[0]?.headers.authorization).toBe('Bearer old-key')
    expect((await running.stop('SIGINT')).code).toBe(0)
  })
})

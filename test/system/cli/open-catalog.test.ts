import { copyFileSync, cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import request from 'supertest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { usePostgres } from '../../helpers/postgres.ts'
import { type RunningCommand, makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'

type Settings = Record<string, string>

const CHANNEL = '11111111-2222-4333-8444-555555555555'
const SAMPLE_CHANNEL = '952a0000-0000-4000-8000-000000000001'
const GTIN = '09521234567899'
const LOST = 'the stored copy has channels of a real catalog'

function writeFeed(folder: string): string {
  const offer = {
    merchant: { name: 'Kopje' },
    network: 'brightlink',
    price: '49.90',
    currency: 'EUR',
    availability: 'in_stock',
    affiliate_url: 'https://links.example/c',
  }
  const feed = join(folder, 'feed.ndjson')
  writeFileSync(
    feed,
    `${JSON.stringify({ gtin: GTIN, title: 'Lamp', brand: null, images: [], offers: [offer] })}\n`,
  )
  return feed
}

async function importFeed(folder: string, settings: Settings): Promise<void> {
  const args = ['catalog', 'import', writeFeed(folder), '--channel', CHANNEL]
  expect(await runBuilt(args, settings)).toMatchObject({ code: 0 })
}

/** The running server, and its response for the box of a channel. */
async function serve(
  settings: Settings,
): Promise<Readonly<{ running: RunningCommand; url: string; askBox(channel?: string): Promise<string> }>> {
  const running = startBuilt(['serve', '--json'], { ...settings, VITRINE_LOG_LEVEL: 'error' })
  const { publicUrl } = JSON.parse(await running.firstLine) as { publicUrl: string }
  return {
    running,
    url: publicUrl,
    async askBox(channel = CHANNEL) {
      const path = `/fragments/${channel}/where-to-buy/${channel === CHANNEL ? GTIN : '09520001001024'}`
      const { status, headers } = await request(publicUrl).get(path)
      return `${status} ${headers['vitrine-state']}`
    },
  }
}

/** Start a server with a real catalog, walk once, and stop it. */
async function makeServed(folder: string, settings: Settings): Promise<void> {
  await importFeed(folder, settings)
  const { running, askBox } = await serve(settings)
  await vi.waitFor(async () => expect(await askBox()).toBe('200 shown'))
  await running.stop('SIGINT')
}

const getServedFolder = setUpOnce(async () => {
  const folder = makeFolder()
  await makeServed(folder, makeSettings(folder) as Settings)
  return folder
})

/** Copy the folder of that stopped server. */
function copyServed(): string {
  const folder = makeFolder()
  cpSync(getServedFolder(), folder, { recursive: true })
  return folder
}

const listFiles = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.startsWith('catalog') && !name.endsWith('.ndjson'))

function loseCatalog(folder: string): void {
  for (const name of listFiles(folder)) rmSync(join(folder, name))
}

describe('lost catalog.db', () => {
  test.each(['1', '2'])(
    '%s worker(s) - no sample data, boxes from the stored copy, reported by log and check, also after a restart',
    async (workers) => {
      const folder = copyServed()
      const settings = { ...(makeSettings(folder) as Settings), VITRINE_WORKERS: workers }
      loseCatalog(folder)
      expect(await runBuilt(['check'], settings)).toMatchObject({
        code: 1,
        out: expect.stringContaining(LOST),
      })
      for (const _start of ['first', 'second']) {
        const { running, url, askBox } = await serve(settings)
        expect(await askBox()).toBe('200 shown')
        expect(await askBox(SAMPLE_CHANNEL)).toMatch(/^404/)
        expect((await request(url).get('/readyz')).status).toBe(200)
        expect((await request(url).get('/studio?tab=health')).text).toMatch(/is empty[^]*backup/)
        await running.stop('SIGINT')
        await vi.waitFor(() => {
          const lines = running.output().split('\n')
          expect(JSON.parse(lines.find((text) => text.includes(LOST)) ?? '{}')).toMatchObject({
            level: 50,
            remedy: expect.stringContaining(join(folder, 'catalog.db')),
          })
        })
      }
      const { code, out } = await runBuilt(['check'], settings)
      expect(code).toBe(1)
      expect(out).toMatch(new RegExp(`WRONG {2}catalog: .*${LOST}`))
    },
  )

  test('restored from a backup - works as before', async () => {
    const folder = copyServed()
    const settings = makeSettings(folder) as Settings
    const backup = makeFolder()
    for (const name of listFiles(folder)) copyFileSync(join(folder, name), join(backup, name))
    loseCatalog(folder)
    await (await serve(settings)).running.stop('SIGINT')
    loseCatalog(folder)
    for (const name of listFiles(backup)) copyFileSync(join(backup, name), join(folder, name))
    const { running, askBox } = await serve(settings)
    expect(await askBox()).toBe('200 shown')
    await running.stop('SIGINT')
    expect(running.output()).not.toContain(LOST)
    expect(await runBuilt(['check'], settings)).toMatchObject({ code: 0 })
  })

  test('imported again with the old id while the server runs - the same copy is used, also after a restart', async () => {
    const folder = copyServed()
    const settings = makeSettings(folder) as Settings
    loseCatalog(folder)
    const first = await serve(settings)
    await importFeed(folder, settings)
    expect(await runBuilt(['sync'], settings)).toMatchObject({ code: 0 })
    expect(await first.askBox()).toBe('200 shown')
    await first.running.stop('SIGINT')
    const { running, askBox } = await serve(settings)
    expect(await askBox()).toBe('200 shown')
    await running.stop('SIGINT')
    expect(running.output()).not.toContain(LOST)
  })

  test('catalog with only sample data - sample data again', async () => {
    const folder = makeFolder()
    const settings = makeSettings(folder) as Settings
    const first = await serve(settings)
    expect(await first.askBox(SAMPLE_CHANNEL)).toBe('200 shown')
    await first.running.stop('SIGINT')
    loseCatalog(folder)
    const { running, askBox } = await serve(settings)
    expect(await askBox(SAMPLE_CHANNEL)).toBe('200 shown')
    await running.stop('SIGINT')
    expect(running.output()).not.toContain(LOST)
  })

  test('unreadable stored copy - no sample data, and the log has the reason', async () => {
    const folder = makeFolder()
    const settings = makeSettings(folder) as Settings
    writeFileSync(join(folder, 'copy.db'), 'no database at all, but long enough to look like one'.repeat(40))
    const { running, askBox } = await serve(settings)
    expect(await askBox(SAMPLE_CHANNEL)).not.toBe('200 shown')
    await vi.waitFor(() => expect(running.output()).toContain('the stored copy cannot be read'))
    expect(readFileSync(join(folder, 'copy.db'), 'utf8')).toContain('no database at all')
  })
})

describe('lost catalog on PostgreSQL', () => {
  const server = usePostgres()

  test('catalog schema dropped - no sample data, boxes from the stored copy', async () => {
    const database = await server.makeDatabase()
    onTestFinished(() => database.drop())
    const catalog = await server.makeDatabase()
    onTestFinished(() => catalog.drop())
    const folder = makeFolder()
    const settings = {
      ...(makeSettings(folder) as Settings),
      VITRINE_DATABASE_URL: database.url,
      VITRINE_CATALOG_DATABASE_URL: catalog.url,
    }
    await makeServed(folder, settings)
    const other = await server.makeDatabase()
    onTestFinished(() => other.drop())
    const { running, askBox } = await serve({ ...settings, VITRINE_CATALOG_DATABASE_URL: other.url })
    expect(await askBox()).toBe('200 shown')
    expect(await askBox(SAMPLE_CHANNEL)).toMatch(/^404/)
    await running.stop('SIGINT')
    await vi.waitFor(() => expect(running.output()).toContain(LOST))
  })
})

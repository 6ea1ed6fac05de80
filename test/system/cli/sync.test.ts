import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { LEASE_MS } from '../../../src/storage/walk-leases.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { makeFolder, makeSettings, runBuilt, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'

async function startFilled(): Promise<Awaited<ReturnType<typeof startRemoteCatalog>>> {
  const remote = await startRemoteCatalog(makeFolder())
  remote.catalog.products.set(
    CHANNEL_ID,
    [1, 2, 3].map((index) => makeWireProduct({ gtin: toGtin(index) })),
  )
  return remote
}

describe('sync as a process', () => {
  it('valid catalog - 0, a line for each channel, progress on standard error', async () => {
    const { settings } = await startFilled()
    const { code, out, err } = await runBuilt(['sync'], settings)
    expect(code).toBe(0)
    expect(out).toMatch(/^Test magazine \([0-9a-f-]{36}\): 3 products in \d+\.\d s\n$/)
    expect(err).toContain('Test magazine: 3 products')
    expect(err).toContain('A running server may show cached boxes for up to 300 more seconds.\n')
    expect(out + err).not.toContain(FAKE_KEY)
  })

  it('call that fails without an open connection - is retried, and the process does not end early', async () => {
    const { catalog, settings } = await startFilled()
    catalog.fault = {
      pathPattern: /products/,
      respond(_request, response) {
        catalog.fault = null
        response.writeHead(500, { Connection: 'close' }).end()
      },
    }
    const { code, out } = await runBuilt(['sync'], settings)
    expect(code).toBe(0)
    expect(out).toContain(': 3 products in ')
  })

  it('--accept while another process walks - waits for it, then walks', async () => {
    const { catalog, settings } = await startFilled()
    await runBuilt(['sync'], settings)
    const path = settings['VITRINE_DATABASE_URL']?.replace('sqlite:', '') ?? ''
    const other = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url })
    onTestFinished(() => other.close())
    await other.acquireWalkLease(CHANNEL_ID, { owner: 'server', forMs: LEASE_MS })
    await other.beginWalk(CHANNEL_ID, { nowMs: Date.now(), resumableSinceMs: Infinity })
    const { child, firstLine, output } = startBuilt(['sync', '--accept'], settings)
    const ended = once(child, 'exit')
    await vi.waitFor(() =>
      expect(output()).toContain('Another process is walking Test magazine; waiting for it to end'),
    )
    await other.failWalk(CHANNEL_ID, { code: 'VITRINE_WALK_FAILED', reason: 'a reason' }, Date.now())
    await other.releaseWalkLease(CHANNEL_ID, 'server')
    expect(await firstLine).toMatch(/: 3 products in \d/)
    expect(await ended).toEqual([0, null])
  })

  it('stored copy cannot be opened, embedded catalog - 1, and the process ends', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'file'), '')
    const settings = makeSettings(folder, { VITRINE_DATABASE_URL: `sqlite:${folder}/file/x.db` })
    const { code, err } = await runBuilt(['sync'], settings)
    expect(code).toBe(1)
    expect(err).toContain('VITRINE_STORE_FAILED')
  })
})

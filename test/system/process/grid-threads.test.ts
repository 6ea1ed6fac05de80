import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { useServer } from '../use-server.ts'

/** Blocks the thread for long reads while a file exists. */
const BLOCKING_MODULE = `
import { existsSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'
const cell = new Int32Array(new SharedArrayBuffer(4))
const isReadThread = !isMainThread && Object.keys(workerData ?? {}).join() === 'path,catalog'
if (isReadThread) while (existsSync(BLOCK_FILE)) Atomics.wait(cell, 0, 0, 20)
`

async function getState(url: string): Promise<string | null> {
  const response = await fetch(url)
  await response.arrayBuffer()
  return response.headers.get('vitrine-state')
}

const folder = mkdtempSync(join(tmpdir(), 'vitrine-grid-threads-'))
const file = join(folder, 'block.mjs')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(['1', '2'])('%s workers', (workers) => {
  const blockFile = join(folder, `block-${workers}`)
  beforeAll(() => {
    writeFileSync(blockFile, '')
    writeFileSync(
      file,
      BLOCKING_MODULE.replace('BLOCK_FILE', () => JSON.stringify(blockFile)),
    )
  })
  const server = useServer({
    VITRINE_WORKERS: workers,
    NODE_OPTIONS: `--import ${pathToFileURL(file).href}`,
  })

  test('grid query that never ends - does not delay boxes or grids without a filter', async () => {
    const searched = `${server.addresses.grid}?q=headphones`
    for (const url of [searched, `${server.addresses.grid}?sort=newest&page=200&limit=60`]) {
      const grid = getState(url)
      expect(await getState(server.addresses.box)).toBe('shown')
      expect(await getState(server.addresses.grid)).toBe('shown')
      expect(await grid).toBe('unavailable')
    }
    rmSync(blockFile)
    await vi.waitFor(async () => expect(await getState(searched)).toBe('shown'))
  })
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startBuiltServer } from '../../helpers/built-server.ts'

/** Makes the threads that read grids stand still while the file `fuse` exists. */
const HOLD = `
import { existsSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'
const cell = new Int32Array(new SharedArrayBuffer(4))
const isReadThread = !isMainThread && Object.keys(workerData ?? {}).join() === 'path,catalog'
if (isReadThread) while (existsSync(FUSE)) Atomics.wait(cell, 0, 0, 20)
`

async function getState(url: string): Promise<string | null> {
  const response = await fetch(url)
  await response.arrayBuffer()
  return response.headers.get('vitrine-state')
}

test.each(['1', '2'])('%s workers - a read of a grid that does not end holds up no box', async (workers) => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-grid-threads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [fuse, file] = [join(folder, 'fuse'), join(folder, 'hold.mjs')]
  writeFileSync(fuse, '')
  writeFileSync(
    file,
    HOLD.replace('FUSE', () => JSON.stringify(fuse)),
  )
  const { addresses, stop } = await startBuiltServer({
    VITRINE_WORKERS: workers,
    NODE_OPTIONS: `--import ${pathToFileURL(file).href}`,
  })
  onTestFinished(stop)
  for (const query of ['', '?q=lamp', '?sort=newest&page=200&limit=60']) {
    const grid = getState(`${addresses.grid}${query}`)
    expect(await getState(addresses.box)).toBe('shown')
    expect(await grid).toBe('unavailable')
  }
  rmSync(fuse)
  await vi.waitFor(async () => expect(await getState(addresses.grid)).toBe('shown'))
})

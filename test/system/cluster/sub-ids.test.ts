import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { makeFolder, makeSettings } from '../../cli/run-cli.ts'
import { startCluster } from './cluster-server.ts'

/** The ETag contains the digest of the sub-ids file. */
async function fetchTag(url: string): Promise<string | null> {
  const response = await fetch(url.replace('/embeds/', '/fragments/'), { headers: { connection: 'close' } })
  return response.headers.get('etag')
}

test('sub-ids file removed after the start - new workers get the rules of the primary', async () => {
  const folder = makeFolder()
  const path = join(folder, 'sub-ids.json')
  copyFileSync(join(PACKAGE_FOLDER, 'deploy/sub-ids.json'), path)
  const server = await startCluster(makeSettings(folder, { VITRINE_SUB_IDS_FILE: path }))
  const oldPids = server.workerPids()
  const tags = new Set([await fetchTag(server.box ?? ''), await fetchTag(server.box ?? '')])
  rmSync(path)
  server.running.child.kill('SIGHUP')
  await vi.waitFor(() => expect(server.findLogLines('all workers were replaced')).toHaveLength(1))
  expect(server.workerPids()).toHaveLength(2)
  expect(server.workerPids().some((pid) => oldPids.includes(pid))).toBe(false)
  for (let request = 0; request < 8; request++) tags.add(await fetchTag(server.box ?? ''))
  expect(tags.size).toBe(1)
})

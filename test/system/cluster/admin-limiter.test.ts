import { get } from 'node:http'
import { expect, test } from 'vitest'
import { makeFolder, makeSettings } from '../../cli/run-cli.ts'
import { type ClusterServer, startCluster } from './cluster-server.ts'

const PASSWORD = 'correct-horse'

/** Return the status of a page that needs the password. A new connection each time reaches all workers. */
function requestMetricsStatus({ publicUrl }: ClusterServer, password: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` }
    get(`${publicUrl}/metrics`, { agent: false, headers }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode))
    }).on('error', reject)
  })
}

test('four workers, forty wrong passwords at once - ten are checked, then all workers reject even the right one', async () => {
  const settings = { ...makeSettings(makeFolder()), VITRINE_ADMIN_PASSWORD: PASSWORD }
  const server = await startCluster({ ...settings, VITRINE_WORKERS: '4' })
  for (let turn = 0; turn < 2; turn += 1)
    expect(
      new Set(await Promise.all(Array.from({ length: 20 }, () => requestMetricsStatus(server, PASSWORD)))),
    ).toEqual(new Set([200]))
  const statuses = await Promise.all(
    Array.from({ length: 40 }, (_, index) => requestMetricsStatus(server, `guess${index}`)),
  )
  expect(statuses.filter((status) => status === 401)).toHaveLength(10)
  expect(statuses.filter((status) => status === 429)).toHaveLength(30)
  const after = await Promise.all(Array.from({ length: 20 }, () => requestMetricsStatus(server, PASSWORD)))
  expect(new Set(after)).toEqual(new Set([429]))
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startBuiltServer } from '../helpers/built-server.ts'
import { SHARED_THINGS } from './shared.ts'
import { startWordPress } from './wordpress/template.ts'

/** Something that is made once, and how it ends. What files are told of it is JSON. */
type Made = Readonly<{ told: unknown; stop(): Promise<void> }>

const MAKERS: Readonly<Record<string, () => Promise<Made>>> = {
  async server() {
    const { addresses, stop } = await startBuiltServer()
    return { told: addresses, stop }
  },
  async wordpress() {
    const { template, stop } = await startWordPress()
    return { told: template, stop }
  },
}

/** Offer what many files of the system tests share: each thing is made for the first file that asks, and ends after the last. */
export async function setup(): Promise<() => Promise<void>> {
  const made = new Map<string, Promise<Made>>()
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? ''
    const making = made.get(name) ?? MAKERS[name]?.() ?? Promise.reject(new Error(`nothing is named ${name}`))
    made.set(name, making)
    making.then(
      ({ told }) => response.end(JSON.stringify(told)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // oxlint-disable-next-line node/no-process-env -- the processes of the tests read it there
  process.env[SHARED_THINGS] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async () => {
    server.close()
    server.closeAllConnections()
    const ends = [...made.values()].map(async (making) => (await making).stop())
    await Promise.allSettled(ends)
  }
}

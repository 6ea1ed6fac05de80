import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startBuiltServer } from '../helpers/built-server.ts'
import { SHARED_PROGRAMS, type SharedPrograms } from './shared.ts'
import { startSite } from './site/start-site.ts'
import { startChromium } from './start-chromium.ts'
import { startFirefox } from './start-firefox.ts'
import { startSites } from './start-sites.ts'
import { startWebkit } from './start-webkit.ts'
import { startWordPressTemplate } from './wordpress/template.ts'

/** A running program, and the address where tests reach it. `ended` resolves when it ends by itself. */
type Program<T> = Readonly<{ address: T; ended?: Promise<unknown>; stop(): Promise<void> }>

const STARTERS: { readonly [Name in keyof SharedPrograms]: () => Promise<Program<SharedPrograms[Name]>> } = {
  browser: startChromium,
  firefox: startFirefox,
  webkit: startWebkit,
  async server() {
    const { addresses, ended, stop } = await startBuiltServer()
    return { address: addresses, ended, stop }
  },
  documentation: startSite,
  sites: startSites,
  async wordpress() {
    const { template, stop } = await startWordPressTemplate()
    return { address: template, stop }
  },
}

const start = async (name: keyof SharedPrograms): Promise<Program<unknown>> => STARTERS[name]()

/** Start each shared program when the first test file requests it, and stop all of them after the last. */
export async function setup(): Promise<() => Promise<void>> {
  const running = new Map<string, Promise<Program<unknown>>>()
  const get = (name: keyof SharedPrograms): Promise<Program<unknown>> => {
    const existing = running.get(name)
    if (existing !== undefined) return existing
    const started = start(name)
    running.set(name, started)
    // If it crashed or did not start, the next file starts another.
    const release = (): void => void running.delete(name)
    void started.then(({ ended, stop }) => ended?.then(release, release).then(stop), release).catch(() => {})
    return started
  }
  const server = createServer((request, response) => {
    get((request.url ?? '').slice(1) as keyof SharedPrograms).then(
      ({ address }) => response.end(JSON.stringify(address)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // oxlint-disable-next-line node/no-process-env -- test processes read it from there
  process.env[SHARED_PROGRAMS] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async () => {
    server.close()
    server.closeAllConnections()
    await Promise.all([...running.values()].map(async (started) => (await started).stop()))
  }
}

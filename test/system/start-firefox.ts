import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launch } from 'puppeteer-core'
import { killGroup } from './kill-group.ts'

/** Puppeteer's own preferences stop telemetry, updates and other background traffic. */
const PREFERENCES = {
  // Only this machine is reachable: other host names go to a proxy that does not exist.
  'network.proxy.type': 1,
  'network.proxy.http': '127.0.0.1',
  'network.proxy.http_port': 9,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': 9,
  // Like the other browsers: a scroll bar takes no space from the page.
  'ui.useOverlayScrollbars': 1,
}

/** A headless Firefox that test files connect to over WebDriver BiDi, one at a time. */
export type SharedFirefox = Readonly<{ address: string; ended: Promise<unknown>; stop(): Promise<void> }>

/** Start the installed Firefox ESR with a profile and home folder of its own. */
export async function startFirefox(): Promise<SharedFirefox> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-firefox-'))
  const browser = await launch({
    browser: 'firefox',
    executablePath: '/usr/bin/firefox-esr',
    userDataDir: join(folder, 'profile'),
    extraPrefsFirefox: PREFERENCES,
    env: { HOME: folder },
  })
  const child = browser.process()
  if (child === null) throw new TypeError('Firefox has no process')
  const ended = once(child, 'exit')
  const address = browser.wsEndpoint()
  // Ends the session of this process, and Firefox goes on.
  await browser.disconnect()
  return {
    address,
    ended,
    async stop() {
      killGroup(child)
      await ended
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

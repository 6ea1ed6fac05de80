import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { killGroup } from './kill-group.ts'

/** Programs of Debian's packages `xvfb` and `webkit2gtk-driver`. */
const PROGRAMS = { screen: 'Xvfb', driver: 'WebKitWebDriver' } as const

/** Twice as high as the windows of tests, which are below its centre. */
const SCREEN = { width: 2_000, height: 3_200 }

/** The toolbar of the browser would make a window of a phone's width impossible. */
const TOOLBAR_CSS =
  'toolbar, toolbar *, button, entry, entry * { min-width: 0; margin: 0; border-width: 0; padding: 0; font-size: 1px }'

const START_TIMEOUT_MS = 60_000

/** WebDriver's address without a trailing slash, and the size of the virtual screen in pixels. */
export type WebkitAddress = Readonly<{ driverUrl: string; screen: typeof SCREEN }>

/** WebKitGTK's driver and its virtual screen. The driver starts one browser at a time for a test file. */
export type SharedWebkit = Readonly<{
  address: WebkitAddress
  ended: Promise<unknown>
  stop(): Promise<void>
}>

/** Start WebKitWebDriver on a virtual screen, with a home folder of its own. */
export async function startWebkit(): Promise<SharedWebkit> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-webkit-'))
  const gtkFolder = join(folder, '.config/gtk-3.0')
  await mkdir(gtkFolder, { recursive: true })
  await writeFile(join(gtkFolder, 'gtk.css'), TOOLBAR_CSS)
  const children: ChildProcess[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(async (child) => stopChild(child)))
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const { xvfb, display } = await startXvfb()
    children.push(xvfb)
    const port = await findPort()
    const driver = spawn(PROGRAMS.driver, [`--port=${port}`], {
      detached: true,
      stdio: 'ignore',
      env: {
        // oxlint-disable-next-line node/no-process-env -- where the machine has programs, not a setting
        PATH: process.env['PATH'],
        HOME: folder,
        DISPLAY: display,
        GDK_BACKEND: 'x11',
        GSETTINGS_BACKEND: 'memory',
        GTK_THEME: 'Adwaita',
        NO_AT_BRIDGE: '1',
        WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
      },
    })
    children.push(driver)
    const ended = once(driver, 'exit').catch((error: unknown) => error)
    const driverUrl = `http://127.0.0.1:${port}`
    await waitForDriver(driverUrl)
    return { address: { driverUrl, screen: SCREEN }, ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Start a virtual screen on a free display. */
async function startXvfb(): Promise<Readonly<{ xvfb: ChildProcess; display: string }>> {
  const size = `${SCREEN.width}x${SCREEN.height}x24`
  const xvfb = spawn(PROGRAMS.screen, ['-displayfd', '3', '-screen', '0', size, '-nolisten', 'tcp'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const [number] = (await Promise.race([
    once(xvfb.stdio[3] as Readable, 'data'),
    once(xvfb, 'exit').then(() => {
      throw new Error('Xvfb did not start')
    }),
  ])) as [Buffer]
  return { xvfb, display: `:${String(number).trim()}` }
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function waitForDriver(driverUrl: string): Promise<void> {
  for (let leftMs = START_TIMEOUT_MS; leftMs > 0; leftMs -= 100) {
    const isReady = await fetch(`${driverUrl}/status`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await wait(100)
  }
  throw new Error('WebKitWebDriver did not start')
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  killGroup(child)
  await ended
}

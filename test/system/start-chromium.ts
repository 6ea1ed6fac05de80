import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium } from 'playwright-core'

/** Block all other hosts, and run nothing in the background. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Render letters alike on every machine, because screenshots are compared.
  '--font-render-hinting=none',
  '--disable-lcd-text',
  '--force-color-profile=srgb',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

/** The headless shell opens a page in a fifth of the time of the full Chromium. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell'
const FULL_CHROMIUM = '/usr/bin/chromium'

/** Version of @sparticuz/chromium in package.json; runs of the same version share its unpacked files. */
const PACKED_VERSION = '147.0.0'

const LIBRARY_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu/libnss3.so',
  '/usr/lib/aarch64-linux-gnu/libnss3.so',
  '/usr/lib64/libnss3.so',
  '/usr/lib/libnss3.so',
]

/** On a busy machine, a browser once never closed. */
const CLOSE_TIMEOUT_MS = 20_000

/** A headless Chromium that test files connect to. */
export type SharedChromium = Readonly<{ address: string; ended: Promise<unknown>; stop(): Promise<void> }>

/** Start `CHROMIUM_PATH`, else the installed headless shell, else that of @sparticuz/chromium (x64 only), else the full Chromium. */
export async function startChromium(): Promise<SharedChromium> {
  const server = await chromium.launchServer({
    executablePath: await findChromium(),
    args: FLAGS,
    host: '127.0.0.1',
  })
  return {
    address: server.wsEndpoint(),
    ended: new Promise<unknown>((resolve) => server.on('close', () => resolve(undefined))),
    async stop() {
      const isClosed = await Promise.race([
        server.close().then(() => true),
        wait(CLOSE_TIMEOUT_MS, false, { ref: false }),
      ])
      if (!isClosed) await server.kill()
    },
  }
}

async function findChromium(): Promise<string> {
  // oxlint-disable-next-line node/no-process-env -- a path on the test machine, not a setting
  const configuredPath = process.env['CHROMIUM_PATH']
  if (configuredPath !== undefined && configuredPath !== '') return configuredPath
  if (existsSync(HEADLESS_SHELL)) return HEADLESS_SHELL
  // The package supports only this architecture.
  return process.arch === 'x64' ? unpackChromium() : FULL_CHROMIUM
}

/** Unpack once into a folder of its version; test files that start together wait for each other. */
async function unpackChromium(): Promise<string> {
  const folder = join(tmpdir(), `vitrine-chromium-${PACKED_VERSION}`)
  const lock = `${folder}.lock`
  await mkdir(folder, { recursive: true })
  /* oxlint-disable node/no-process-env -- the package reads both variables on import and while unpacking */
  // Makes the package use its own libraries, such as libnss3, which a minimal system lacks.
  if (!LIBRARY_FOLDERS.some((path) => existsSync(path)))
    process.env['AWS_EXECUTION_ENV'] ??= 'AWS_Lambda_nodejs22.x'
  const previousTemporaryFolder = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  /* oxlint-enable node/no-process-env */
  try {
    await takeLock(lock)
    const { default: packed } = await import('@sparticuz/chromium')
    return await packed.executablePath()
  } finally {
    await rm(lock, { recursive: true, force: true })
    restoreTemporaryFolder(previousTemporaryFolder)
  }
}

function restoreTemporaryFolder(previousTemporaryFolder: string | undefined): void {
  // oxlint-disable-next-line node/no-process-env -- restores the previous value
  if (previousTemporaryFolder === undefined) delete process.env['TMPDIR']
  // oxlint-disable-next-line node/no-process-env -- restores the previous value
  else process.env['TMPDIR'] = previousTemporaryFolder
}

async function takeLock(lock: string): Promise<void> {
  for (let triesLeft = 600; triesLeft > 0; triesLeft -= 1) {
    try {
      await mkdir(lock)
      return
    } catch {
      await wait(100)
    }
  }
}

import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium } from 'playwright-core'

/** Only this machine is reachable: all other host names fail, and there is no background traffic. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Text must look the same on every machine, because screenshots are compared.
  '--font-render-hinting=none',
  '--disable-lcd-text',
  '--force-color-profile=srgb',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

/** Opens a page five times as fast as the full Chromium. */
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

/** Start `CHROMIUM_PATH`, else the installed headless shell, else @sparticuz/chromium (x64 only), else the full Chromium. */
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
  // The package contains a binary for x64 only.
  return process.arch === 'x64' ? unpackChromium() : FULL_CHROMIUM
}

/** Unpack once into a folder named after the version; a lock makes concurrent test files wait. */
async function unpackChromium(): Promise<string> {
  const folder = join(tmpdir(), `vitrine-chromium-${PACKED_VERSION}`)
  const lock = `${folder}.lock`
  await mkdir(folder, { recursive: true })
  /* oxlint-disable node/no-process-env -- the package reads both when it is imported and when it unpacks */
  // Makes the package use its bundled libnss3 and related libraries, which a minimal machine lacks.
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

import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Browser, chromium } from 'playwright-core'

/** Reaches this machine only: every other name is not found, and nothing runs in the background. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Letters are as wide, and as grey, on every machine: photographs are compared.
  '--font-render-hinting=none',
  '--disable-lcd-text',
  '--force-color-profile=srgb',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

const INSTALLED = '/usr/bin/chromium'

/** Version of @sparticuz/chromium in package.json: its unpacked files are shared by runs of the same version only. */
const PACKED_VERSION = '147.0.0'

const LIBRARY_PLACES = [
  '/usr/lib/x86_64-linux-gnu/libnss3.so',
  '/usr/lib/aarch64-linux-gnu/libnss3.so',
  '/usr/lib64/libnss3.so',
  '/usr/lib/libnss3.so',
]

/**
 * A headless Chromium: `CHROMIUM_PATH`, else the installed one, else the one packed in @sparticuz/chromium. Close it
 * in `afterAll`.
 */
export async function launchChromium(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: await findChromium(), args: FLAGS })
  browser.on('context', (context) => context.setDefaultTimeout(LOADING_MS))
  const close = browser.close.bind(browser)
  // A browser that does not end by itself is ended with the process of the tests; nothing else may wait for it.
  browser.close = () => Promise.race([close(), wait(PATIENCE_MS, undefined, { ref: false })])
  return browser
}

/** A page that is not there by then never comes: machines of CI have stood still for half a minute. */
const LOADING_MS = 120_000

/** Seen once on a busy machine: a browser that had answered everything and never closed. */
const PATIENCE_MS = 20_000

async function findChromium(): Promise<string> {
  // oxlint-disable-next-line node/no-process-env -- a path of the machine that tests run on, not a setting
  const named = process.env['CHROMIUM_PATH']
  if (named !== undefined && named !== '') return named
  return existsSync(INSTALLED) ? INSTALLED : unpackChromium()
}

/** Unpacks into a folder of its own version, once; two test files that start together wait for each other. */
async function unpackChromium(): Promise<string> {
  const folder = join(tmpdir(), `vitrine-chromium-${PACKED_VERSION}`)
  const lock = `${folder}.lock`
  await mkdir(folder, { recursive: true })
  /* oxlint-disable node/no-process-env -- the package reads both when it is imported and when it unpacks */
  // With it the package brings its own libnss3 and its like, which a bare machine lacks.
  if (!LIBRARY_PLACES.some((place) => existsSync(place)))
    process.env['AWS_EXECUTION_ENV'] ??= 'AWS_Lambda_nodejs22.x'
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  /* oxlint-enable node/no-process-env */
  try {
    await takeLock(lock)
    const { default: packed } = await import('@sparticuz/chromium')
    return await packed.executablePath()
  } finally {
    await rm(lock, { recursive: true, force: true })
    restoreTemporaryFolder(before)
  }
}

function restoreTemporaryFolder(before: string | undefined): void {
  // oxlint-disable-next-line node/no-process-env -- as it was before
  if (before === undefined) delete process.env['TMPDIR']
  // oxlint-disable-next-line node/no-process-env -- as it was before
  else process.env['TMPDIR'] = before
}

async function takeLock(lock: string): Promise<void> {
  const { setTimeout: wait } = await import('node:timers/promises')
  for (let triesLeft = 600; triesLeft > 0; triesLeft -= 1) {
    try {
      await mkdir(lock)
      return
    } catch {
      await wait(100)
    }
  }
}

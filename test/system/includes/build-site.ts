import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { type PageOutcome, classifyPage } from './page-outcome.ts'

/** A program that writes a page, or stops without one. */
export type BuildDetails = Readonly<{
  command: string
  args: readonly string[]
  cwd: string
  env?: Readonly<Record<string, string>>
  /** A build that goes on until it aborts waits for something. */
  signal: AbortSignal
  /** The page that it writes, as a whole path. */
  page: string
}>

/** Runs a build to its end, and says what readers of its page would see. */
export async function buildAndClassify(details: BuildDetails): Promise<PageOutcome> {
  await rm(details.page, { force: true })
  const child = spawn(details.command, details.args, {
    cwd: details.cwd,
    // oxlint-disable-next-line node/no-process-env -- where programs are, for what they start themselves
    env: { PATH: process.env['PATH'], HOME: details.cwd, ...details.env },
    stdio: 'ignore',
  })
  details.signal.addEventListener('abort', () => child.kill('SIGKILL'))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code === null) return 'waits'
  const page = await readFile(details.page).catch(() => null)
  return code !== 0 || page === null ? 'no page' : classifyPage(page)
}

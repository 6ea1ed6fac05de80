import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { type PageOutcome, classifyPage } from './page-outcome.ts'

/** A program that writes a page. */
export type BuildDetails = Readonly<{
  command: string
  args: readonly string[]
  cwd: string
  env?: Readonly<Record<string, string>>
  /** A build that runs until this aborts counts as waiting. */
  signal: AbortSignal
  /** Absolute path of the page that it writes. */
  page: string
}>

/** Run a build and return what readers of its page see. */
export async function buildAndClassify(details: BuildDetails): Promise<PageOutcome> {
  await rm(details.page, { force: true })
  const child = spawn(details.command, details.args, {
    cwd: details.cwd,
    // oxlint-disable-next-line node/no-process-env -- PATH for programs that the build starts
    env: { PATH: process.env['PATH'], HOME: details.cwd, ...details.env },
    stdio: 'ignore',
  })
  details.signal.addEventListener('abort', () => child.kill('SIGKILL'))
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code === null) return 'waits'
  const page = await readFile(details.page).catch(() => null)
  return code !== 0 || page === null ? 'no page' : classifyPage(page)
}

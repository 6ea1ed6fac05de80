import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Build once before all system tests: processes, threads and the command line run from `dist`, sites use the package for them. */
export function setup(): void {
  for (const script of ['../../scripts/build.mjs', '../../packages/embed/build.mjs'])
    execFileSync(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], { stdio: 'inherit' })
}

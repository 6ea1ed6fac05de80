import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Build once before all system tests: processes, threads and the command line run from `dist`. */
export function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], {
    stdio: 'inherit',
  })
}

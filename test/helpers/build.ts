import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Builds once before all tests: pages need their hashed files, the walk's thread and the command line need `dist`. */
export function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))], {
    stdio: 'inherit',
  })
}

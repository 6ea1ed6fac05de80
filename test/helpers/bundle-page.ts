import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Build the browser assets, whose hashed names are in the HTML. */
export function setup(): void {
  const build = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))
  execFileSync(process.execPath, [build, '--page'], { stdio: 'inherit' })
}

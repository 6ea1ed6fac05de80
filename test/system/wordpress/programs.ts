import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/* oxlint-disable node/no-process-env -- what the machine has, not a setting */
const PATH = `${process.env['PATH'] ?? ''}${delimiter}/usr/sbin`
const isRequired = process.env['REQUIRE_PROGRAMS'] === '1'

/** Folder of WordPress: that of Debian's package, unless `TEST_WORDPRESS_FOLDER` has another version. */
export const WORDPRESS_FOLDER: string = process.env['TEST_WORDPRESS_FOLDER'] ?? '/usr/share/wordpress'
/* oxlint-enable node/no-process-env */

function findInstalled(name: string): string | undefined {
  return PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path))
}

/** Return the path of an installed program. */
export function findProgram(name: string): string {
  const path = findInstalled(name)
  if (path === undefined) throw new Error(`not installed: ${name}`)
  return path
}

function listMissingPrograms(): string[] {
  const missing = ['php', 'mariadb', 'mariadbd', 'mariadb-install-db'].filter(
    (name) => findInstalled(name) === undefined,
  )
  return existsSync(join(WORDPRESS_FOLDER, 'wp-load.php')) ? missing : [...missing, 'wordpress']
}

/** @throws Error that names the missing programs */
export function assertPrograms(): void {
  const missing = listMissingPrograms()
  if (missing.length > 0) throw new Error(`not installed: ${missing.join(', ')}`)
}

/** `true` when a program is missing, unless REQUIRE_PROGRAMS=1. */
export const isSkipped: boolean = listMissingPrograms().length > 0 && !isRequired

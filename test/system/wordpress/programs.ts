import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where Debian puts WordPress. */
export const WORDPRESS_FOLDER = '/usr/share/wordpress'

/* oxlint-disable node/no-process-env -- what the machine has, not a setting */
const PATH = `${process.env['PATH'] ?? ''}${delimiter}/usr/sbin`
const isRequired = process.env['REQUIRE_PROGRAMS'] === '1'
/* oxlint-enable node/no-process-env */

/** Path of a program, if it is installed. */
function findInstalled(name: string): string | undefined {
  return PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path))
}

/** Path of a program that has to be there. */
export function findProgram(name: string): string {
  const path = findInstalled(name)
  if (path === undefined) throw new Error(`not installed: ${name}`)
  return path
}

/** Programs of these tests that this machine lacks. */
function listMissingPrograms(): string[] {
  const missing = ['php', 'mariadb', 'mariadbd', 'mariadb-install-db'].filter(
    (name) => findInstalled(name) === undefined,
  )
  return existsSync(join(WORDPRESS_FOLDER, 'wp-load.php')) ? missing : [...missing, 'wordpress']
}

/** @throws Error that names programs of these tests that this machine lacks. */
export function assertPrograms(): void {
  const missing = listMissingPrograms()
  if (missing.length > 0) throw new Error(`not installed: ${missing.join(', ')}`)
}

/** Whether to skip: something is missing, and nobody said that it has to be there. */
export const isSkipped: boolean = listMissingPrograms().length > 0 && !isRequired

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PACKAGE_FOLDER } from '../../src/lib/paths.ts'

/** Where the parts of the bench are; they are JavaScript, and imported as a user of the bench runs them. */
export async function importBench<Exports>(file: string): Promise<Exports> {
  return (await import(pathToFileURL(join(PACKAGE_FOLDER, 'bench', file)).href)) as Exports
}

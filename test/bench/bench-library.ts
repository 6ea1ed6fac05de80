import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'

/** Import a module of the benchmark. These modules are JavaScript and need no build. */
export async function importBench<Exports>(file: string): Promise<Exports> {
  return (await import(pathToFileURL(join(PACKAGE_FOLDER, 'bench', file)).href)) as Exports
}

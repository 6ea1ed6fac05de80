import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PACKAGE_FOLDER } from '../../src/lib/paths.ts'

/** Imports the JavaScript modules of the benchmark as the benchmark runs them. */
export async function importBench<Exports>(file: string): Promise<Exports> {
  return (await import(pathToFileURL(join(PACKAGE_FOLDER, 'bench', file)).href)) as Exports
}

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'

const run = promisify(execFile)
const CLIENTS_FOLDER = join(PACKAGE_FOLDER, 'test/system/clients')
/** Has the generators, with the older TypeScript that they need. */
const system = createRequire(import.meta.url)
const repository = createRequire(join(PACKAGE_FOLDER, 'package.json'))

/** Run a program of an installed package and return its output. */
async function runProgram(
  resolve: NodeJS.Require,
  program: string,
  parameters: readonly string[],
): Promise<string> {
  const [, name = '', path = ''] = /^([\w-]+)\/(.+)$/.exec(program) ?? []
  const file = join(dirname(resolve.resolve(`${name}/package.json`)), path)
  const { stdout } = await run(process.execPath, [file, ...parameters]).catch(
    (error: { stdout: string }) => error,
  )
  return stdout
}

type ClientFiles = Readonly<{ folder: string; document: string; files: readonly string[] }>

/** Add to an empty folder the code that both generators make of a document, and copies of files of `test/system/clients/` that use it. */
export async function createClients({ folder, document, files }: ClientFiles): Promise<void> {
  const path = join(folder, 'openapi.json')
  writeFileSync(path, document)
  const made = join(folder, 'made')
  await runProgram(system, 'openapi-typescript/bin/cli.js', [path, '-o', join(made, 'openapi-typescript.ts')])
  const codegen = ['--input', path, '--output', join(made, 'codegen'), '--client', 'fetch', '--useOptions']
  await runProgram(system, 'openapi-typescript-codegen/bin/index.js', codegen)
  for (const file of files) cpSync(join(CLIENTS_FOLDER, file), join(folder, basename(file)))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', 'form-data'])
    symlinkSync(join(PACKAGE_FOLDER, 'test/system/node_modules', name), join(modules, name), 'dir')
  symlinkSync(PACKAGE_FOLDER, join(modules, 'vitrine'), 'dir')
}

/** A file, and a right text in it with a mistake that the compiler must find. */
type Mistake = readonly [file: string, right: string, wrong: string]

/** Compile a folder with a copy of a file for each mistake. `failing`: the files with errors; they should be those copies. */
export async function compileWithMistakes(folder: string, mistakes: readonly Mistake[]) {
  const copies = mistakes.map(([file, right, mistake], index) => {
    const text = readFileSync(join(folder, file), 'utf8')
    expect(text).toContain(right)
    writeFileSync(join(folder, `wrong-${index}.ts`), text.replace(right, mistake))
    return `wrong-${index}.ts`
  })
  const output = await checkTypes(folder)
  return { failing: listWrongFiles(output), copies: new Set(copies), output }
}

/** Compile all files of the folder with the repository's TypeScript and return the output. */
async function checkTypes(folder: string): Promise<string> {
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    moduleDetection: 'force',
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  return runProgram(repository, 'typescript/bin/tsc', ['-p', folder, '--pretty', 'false'])
}

/** Return the files with errors in the output of the compiler. */
function listWrongFiles(compilerOutput: string): ReadonlySet<string | undefined> {
  return new Set([...compilerOutput.matchAll(/([\w.-]+\.ts)\(\d+,\d+\): error/g)].map(([, file]) => file))
}

/** Bundle a client and return its function `visit`. */
export async function loadVisit<Visit>(folder: string, file: string): Promise<Visit> {
  const outfile = join(folder, file.replace('.ts', '.mjs'))
  await build({ entryPoints: [join(folder, file)], outfile, bundle: true, format: 'esm', platform: 'node' })
  const { visit } = (await import(pathToFileURL(outfile).href)) as { visit: Visit }
  return visit
}

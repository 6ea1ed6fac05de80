import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import request from 'supertest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
import { setUpOnce } from '../../helpers/cleanup.ts'
import type { Visit } from '../../clients/visit.ts'
import {
  GTINS,
  type ServiceUnderTest,
  importRows,
  createFolder,
  createProduct,
  startTestService,
  addApiKey,
} from '../../catalog-service/harness.ts'
import { fetchValidated } from '../../catalog-service/openapi-validation.ts'

const run = promisify(execFile)
const CLIENTS_FOLDER = join(PACKAGE_FOLDER, 'test/clients')
/** The generators are installed in that folder. */
const clients = createRequire(join(CLIENTS_FOLDER, 'package.json'))
const repository = createRequire(import.meta.url)

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

/** Create a folder with the served OpenAPI document, the code that both generators produce, and the clients that use it. */
async function createClients(url: string): Promise<string> {
  const folder = createFolder()
  const { text } = await request(url).get('/openapi.json').expect(200)
  const document = join(folder, 'openapi.json')
  writeFileSync(document, text)
  const made = join(folder, 'made')
  await runProgram(clients, 'openapi-typescript/bin/cli.js', [
    document,
    '-o',
    join(made, 'openapi-typescript.ts'),
  ])
  const codegen = [
    '--input',
    document,
    '--output',
    join(made, 'codegen'),
    '--client',
    'fetch',
    '--useOptions',
  ]
  await runProgram(clients, 'openapi-typescript-codegen/bin/index.js', codegen)
  for (const file of ['visit.ts', ...CLIENTS]) cpSync(join(CLIENTS_FOLDER, file), join(folder, file))
  symlinkSync(join(PACKAGE_FOLDER, 'node_modules'), join(folder, 'node_modules'), 'dir')
  return folder
}

const CLIENTS = ['by-openapi-fetch.ts', 'by-codegen.ts'] as const

/** Compile all files of the folder with the repository's TypeScript and return the output. */
async function checkTypes(folder: string): Promise<string> {
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  return runProgram(repository, 'typescript/bin/tsc', ['-p', folder, '--pretty', 'false'])
}

async function loadClient(folder: string, file: string): Promise<Visit> {
  const outfile = join(folder, file.replace('.ts', '.mjs'))
  await build({ entryPoints: [join(folder, file)], outfile, bundle: true, format: 'esm', platform: 'node' })
  const { visit } = (await import(pathToFileURL(outfile).href)) as { visit: Visit }
  return visit
}

async function startWithProducts(): Promise<ServiceUnderTest> {
  const fixture = await startTestService()
  await importRows(
    fixture,
    GTINS.map((gtin) => createProduct(gtin)),
  )
  return fixture
}

/** Mistakes: file of the client, correct code, and wrong code. */
const MISTAKES = [
  ['by-openapi-fetch.ts', 'merchant.name', 'merchant.title'],
  ['by-openapi-fetch.ts', 'data?.brand', 'data?.maker'],
  ['by-openapi-fetch.ts', "'/v0/channels')\n  const items", "'/v0/channel')\n  const items"],
  ['by-openapi-fetch.ts', 'path: { channelId }, query', 'path: {}, query'],
  ['by-openapi-fetch.ts', '? { limit: 2 }', "? { limit: 'two' }"],
  ['by-openapi-fetch.ts', 'cursor = page.data.next_cursor', 'cursor = page.data.cursor'],
  ['by-codegen.ts', 'merchant.name', 'merchant.title'],
  ['by-codegen.ts', '{ channelId, gtin }', '{ gtin }'],
  ['by-codegen.ts', '{ channelId, limit: 2 }', "{ channelId, limit: 'two' }"],
  ['by-codegen.ts', 'brand: found.brand', 'brand: found.offers'],
] as const

describe('clients generated from the OpenAPI document', () => {
  const getFolder = setUpOnce(async () => createClients((await startTestService()).url))

  test('type check - correct clients pass, and each mistake is an error', async () => {
    const folder = getFolder()
    const wrong = MISTAKES.map(([file, right, mistake], index) => {
      const text = readFileSync(join(folder, file), 'utf8')
      expect(text).toContain(right)
      writeFileSync(join(folder, `wrong-${index}.ts`), text.replace(right, mistake))
      return `wrong-${index}.ts`
    })
    const compilerOutput = await checkTypes(folder)
    const files = new Set(
      [...compilerOutput.matchAll(/([\w.-]+\.ts)\(\d+,\d+\): error/g)].map(([, file]) => file),
    )
    expect(files, compilerOutput).toEqual(new Set(wrong))
  })

  test.each(CLIENTS)('%s - all three operations and all pages - reads the catalog', async (file) => {
    const fixture = await startWithProducts()
    const { key } = await addApiKey(fixture.store, file)
    vi.stubGlobal('fetch', fetchValidated)
    onTestFinished(() => void vi.unstubAllGlobals())
    const visit = await loadClient(getFolder(), file)
    expect(await visit({ baseUrl: fixture.url, key, gtin: '17', missingGtin: '99999999999994' })).toEqual({
      channelNames: ['My website'],
      gtins: [...GTINS],
      pages: 3,
      merchants: ['Shop A'],
      brand: 'Brand',
      missing: 404,
      refused: 401,
    })
  })
})

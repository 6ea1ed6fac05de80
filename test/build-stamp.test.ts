import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../src/lib/files.ts'
import { makeFolder } from './cli/run-cli.ts'

type Build = () => Promise<ReadonlyMap<string, string>>
type Options = Readonly<{ rootFolder: string; inputs: readonly string[]; output: string; build: Build }>

const { buildIfChanged } = (await import(
  pathToFileURL(join(PACKAGE_FOLDER, 'scripts/build-stamp.mjs')).href
)) as { buildIfChanged: (stampPath: string, options: Options) => Promise<void> }

/** A folder with sources that are built once, by copying one of them. `builds` counts. */
async function createProject() {
  const rootFolder = makeFolder()
  const output = join(rootFolder, 'dist')
  for (const folder of ['src/deep', 'dist']) await mkdir(join(rootFolder, folder), { recursive: true })
  const write = (path: string, text: string): void => writeFileSync(join(rootFolder, path), text)
  for (const path of ['src/a.ts', 'src/deep/b.ts', 'package.json']) write(path, path)
  const project = {
    write,
    remove: (path: string): void => rmSync(join(rootFolder, path)),
    builds: 0,
    onBuild: (): void => {},
    run: async (failure?: Error): Promise<void> =>
      buildIfChanged(join(output, '.stamp'), {
        rootFolder,
        inputs: ['src', 'package.json', 'missing.json'],
        output,
        async build() {
          project.builds += 1
          project.onBuild()
          const text = readFileSync(join(rootFolder, 'src/a.ts'), 'utf8')
          write('dist/a.js', text)
          if (failure !== undefined) throw failure
          return new Map([['a.js', text]])
        },
      }),
  }
  await project.run()
  return project
}

type Project = Awaited<ReturnType<typeof createProject>>

it('nothing has changed, or a file is written with the same content - is not built', async () => {
  const project = await createProject()
  await project.run()
  project.write('src/a.ts', 'src/a.ts')
  await project.run()
  expect(project.builds).toBe(1)
})

it.each<[string, (project: Project) => void]>([
  ['a changed file', ({ write }) => write('src/deep/b.ts', 'other')],
  ['a new file', ({ write }) => write('src/deep/c.ts', '')],
  ['a deleted file', ({ remove }) => remove('src/deep/b.ts')],
  [
    'a renamed file',
    ({ write, remove }) => [remove('src/deep/b.ts'), write('src/deep/c.ts', 'src/deep/b.ts')],
  ],
  ['a changed single file', ({ write }) => write('package.json', '{}')],
  ['a file that was missing', ({ write }) => write('missing.json', '{}')],
  ['deleted output', ({ remove }) => remove('dist/a.js')],
  ['output of another build', ({ write }) => write('dist/a.js', 'other')],
  ['an empty stamp, as after a power failure', ({ write }) => write('dist/.stamp', '')],
])('%s - is built once', async (_condition, change) => {
  const project = await createProject()
  change(project)
  await project.run()
  await project.run()
  expect(project.builds).toBe(2)
})

it('a source that changes during a build - is built again', async () => {
  const project = await createProject()
  project.write('src/a.ts', 'second')
  project.onBuild = () => project.write('src/a.ts', 'third')
  await project.run()
  project.onBuild = () => {}
  project.write('src/a.ts', 'second')
  await project.run()
  expect(project.builds).toBe(3)
})

it('a build fails - the next one builds, although nothing has changed since', async () => {
  const project = await createProject()
  project.write('src/a.ts', 'wrong')
  await expect(project.run(new Error('failed'))).rejects.toThrow('failed')
  project.write('src/a.ts', 'src/a.ts')
  await project.run()
  expect(project.builds).toBe(3)
})

import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { makeFolder } from '../../cli/run-cli.ts'
import { isIncluded } from './docker-ignore.ts'
import { DOCKERFILE, readStages, readStartOptions } from './dockerfile.ts'

/** List the packages with binaries that the Dockerfile installs for a processor, named as in `TARGETARCH`. */
async function listNativePackages(target: string): Promise<string[]> {
  const step = readStages()
    .find(({ name }) => name === 'packages')
    ?.steps.find(({ kind }) => kind === 'run')
  const [command = ''] = (step?.kind === 'run' ? step.command : '').split(' && ')
  expect(command).toMatch(/^npm ci --omit=dev /)
  const folder = makeFolder()
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(PACKAGE_FOLDER, file), join(folder, file))
  // oxlint-disable-next-line node/no-process-env -- the machine's, not settings
  const env = { ...process.env, TARGETARCH: target }
  // "npm run --silent" passes its log level on, and then the list is not printed.
  const list = `${command} --dry-run --loglevel=notice`
  const { stdout } = await promisify(execFile)('sh', ['-c', list], { cwd: folder, env })
  return stdout.split('\n').flatMap((line) => /^add (@img\/sharp-\S+)/.exec(line)?.[1] ?? [])
}

describe('Dockerfile', () => {
  it('the file - checked by a linter - has no errors', () => {
    expect(validate(DOCKERFILE)).toEqual([])
    expect(validate(`${DOCKERFILE}\nUSERR 0`)).toHaveLength(1)
  })

  it('the main process - is Node itself, and does not run as root', () => {
    const { entrypoint, command, user } = readStartOptions()
    expect([entrypoint[0], ...command]).toEqual(['node', 'serve'])
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  })

  it('every stage - is based on the same image of Node 24; all but the last run on the machine that builds', () => {
    expect(DOCKERFILE).toMatch(/^ARG NODE_IMAGE=node:24-/m)
    const bases = [...DOCKERFILE.matchAll(/^FROM (.+?)(?: AS \w+)?$/gm)].map(([, base]) => base)
    const building = '--platform=${BUILDPLATFORM} ${NODE_IMAGE}'
    expect(bases).toEqual(readStages().map(({ name }) => (name === null ? '${NODE_IMAGE}' : building)))
  })

  it('the last stage - runs no command, so it needs no emulation of another processor', () => {
    expect(
      readStages()
        .at(-1)
        ?.steps.filter(({ kind }) => kind === 'run'),
    ).toEqual([])
  })

  it.each([
    ['amd64', 'x64', 'arm64'],
    ['arm64', 'arm64', 'x64'],
  ])('packages for %s - are the native ones of %s, not of %s', async (target, expected, other) => {
    const names = await listNativePackages(target)
    expect(names).toEqual(
      expect.arrayContaining([`@img/sharp-linux-${expected}`, `@img/sharp-libvips-linux-${expected}`]),
    )
    expect(names.filter((name) => name.includes(other) || name.includes('musl'))).toEqual([])
  })
})

describe('deploy/compose/Dockerfile, from the npm package', () => {
  const text = readFileSync(join(PACKAGE_FOLDER, 'deploy/compose/Dockerfile'), 'utf8')

  it('the file - checked by a linter - has no errors', () => expect(validate(text)).toEqual([]))

  it('base image, user, folder and command - are those of the other Dockerfile', () => {
    expect(text).toContain(`FROM ${/^ARG NODE_IMAGE=(\S+)$/m.exec(DOCKERFILE)?.[1]}\n`)
    const lines = DOCKERFILE.split('\n').filter((line) =>
      /^(?:USER|ENTRYPOINT|CMD|WORKDIR \/data)/.test(line),
    )
    expect(lines).toHaveLength(4)
    for (const line of lines) expect(text.split('\n')).toContain(line)
  })
})

describe('.dockerignore', () => {
  it.each([
    '.env',
    '.git/config',
    'data/vitrine.db',
    'secrets/catalog-key',
    'node_modules/pg',
    'public/built/x.js',
  ])('%s - is excluded', (path) => expect(isIncluded(path)).toBe(false))

  it.each(['package.json', 'src/main.ts', 'views/a/b.eta', 'public/released/x.js', 'deploy/sub-ids.json'])(
    '%s - is included',
    (path) => expect(isIncluded(path)).toBe(true),
  )
})

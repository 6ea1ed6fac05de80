import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { isIncluded } from './docker-ignore.ts'
import { DOCKERFILE, readStages, readStartOptions } from './dockerfile.ts'

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

  it('every stage - is based on the same image of Node 24', () => {
    expect(DOCKERFILE).toMatch(/^ARG NODE_IMAGE=node:24-/m)
    const bases = [...DOCKERFILE.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    expect(bases).toEqual(readStages().map(() => '${NODE_IMAGE}'))
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

  it.each(['package.json', 'src/main.ts', 'views/a/b.eta', 'public/released/x.js'])(
    '%s - is included',
    (path) => expect(isIncluded(path)).toBe(true),
  )
})

import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER, VERSION } from '../src/lib/files.ts'
import { makeFolder } from './cli/run-cli.ts'

const run = (script: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [join(PACKAGE_FOLDER, 'scripts', script), ...args], { encoding: 'utf8' })

/** What the script reads. */
const VERSIONED_PATHS = [
  'compose.yaml',
  'deploy/kubernetes',
  'docs/publish/openapi.json',
  'integrations',
  'package.json',
  'package-lock.json',
  'packages/embed/package.json',
  'packages/embed/package-lock.json',
  'scripts',
]

describe('a release', () => {
  it('version - is the same in all files that repeat it', () => {
    expect(run('sync-version.mjs', '--check')).toMatchObject({ status: 0, stderr: '' })
  })

  it('a new version - is written to all files that have the old one', () => {
    const folder = makeFolder()
    for (const path of VERSIONED_PATHS)
      cpSync(join(PACKAGE_FOLDER, path), join(folder, path), { recursive: true })
    const read = (path: string): string => readFileSync(join(folder, path), 'utf8')
    writeFileSync(join(folder, 'package.json'), read('package.json').replace(`"${VERSION}"`, '"99.1.2"'))
    const { status } = spawnSync(process.execPath, [join(folder, 'scripts/sync-version.mjs')])
    expect(status).toBe(0)
    const { info } = JSON.parse(read('docs/publish/openapi.json')) as { info: { version: string } }
    expect(info.version).toBe('99.1.2')
    const others = readdirSync(join(folder, 'integrations'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.json'))
      .filter((path) => /^\s*"version": "(?!99\.1\.2")/m.test(read(`integrations/${path}`)))
    expect(others).toEqual([])
  })

  it('images of Dockerfiles and Compose - have a digest, except our own', () => {
    const images = ['Dockerfile', 'deploy/compose/Dockerfile', 'compose.yaml'].map((path) => [
      path,
      ...[
        ...readFileSync(join(PACKAGE_FOLDER, path), 'utf8').matchAll(
          /^(?:ARG NODE_IMAGE=|FROM (?!.*\$)| +image: (?!vitrine:))(.+)$/gm,
        ),
      ].map(([, image = '']) => image.replace(/^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/, 'pinned')),
    ])
    expect(images).toEqual([
      ['Dockerfile', 'pinned'],
      ['deploy/compose/Dockerfile', 'pinned'],
      ['compose.yaml', 'pinned', 'pinned'],
    ])
  })

  it('changelog - has only known headings, the newest release first, and the current version', () => {
    const lines = readFileSync(join(PACKAGE_FOLDER, 'CHANGELOG.md'), 'utf8').split('\n')
    const [unreleased, ...releases] = lines.filter((line) => line.startsWith('## '))
    expect(unreleased).toBe('## [Unreleased]')
    for (const release of releases) expect(release).toMatch(/^## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$/)
    expect(releases[0]).toContain(`[${VERSION}]`)
    const dates = releases.map((release) => release.slice(-10))
    expect(dates).toEqual(dates.toSorted().toReversed())
    const headings = lines.filter((line) => line.startsWith('### '))
    for (const heading of headings)
      expect(heading).toMatch(/^### (?:Upgrade|Added|Changed|Deprecated|Removed|Fixed|Security)$/)
  })

  it('notes of the current version - are its section of the changelog without the heading', () => {
    const { status, stdout } = run('changelog-section.mjs', VERSION)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^\S/)
    expect(stdout).toContain('### Added')
    expect(stdout).not.toMatch(/^## /m)
  })

  it.each(['', '9.9.9', 'Unreleased', '.*'])('notes of the unknown version "%s" - fail', (version) => {
    const { status, stdout, stderr } = run('changelog-section.mjs', version)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain('has no section')
  })
})

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER, VERSION } from '../src/lib/paths.ts'

const run = (script: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, [join(PACKAGE_FOLDER, 'scripts', script), ...args], { encoding: 'utf8' })

describe('a release', () => {
  it('version - is the same in all files that repeat it', () => {
    expect(run('sync-version.mjs', '--check')).toMatchObject({ status: 0, stderr: '' })
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
      expect(heading).toMatch(
        /^### (?:Upgrade from an earlier build|Added|Changed|Deprecated|Removed|Fixed|Security)$/,
      )
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

  it('bill of materials - npm can write it, with the packages of the server only', () => {
    const args = [
      'sbom',
      '--package-lock-only',
      '--omit',
      'dev',
      '--workspaces=false',
      '--sbom-format',
      'cyclonedx',
    ]
    const text = execFileSync('npm', args, { cwd: PACKAGE_FOLDER, encoding: 'utf8' })
    const { components } = JSON.parse(text) as { components: readonly { name: string }[] }
    const names = components.map(({ name }) => name)
    expect(names).toContain('express')
    expect(names).not.toContain('vitest')
  })
})

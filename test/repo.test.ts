import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as errors from '../src/errors.ts'
import { SETTINGS, type Setting } from '../src/config/settings.ts'
import { loadAssets } from '../src/http/assets.ts'
import { BUILT_FOLDER, RELEASED_FOLDER, PACKAGE_FOLDER } from '../src/lib/files.ts'

const read = (path: string): string => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')

function listFiles(folder: string, ending: string): string[] {
  return readdirSync(join(PACKAGE_FOLDER, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
    .sort()
}

describe('repository', () => {
  it('public/released - current scripts are there, and no file has changed', () => {
    const released = new Map(
      readdirSync(RELEASED_FOLDER).map((file) => [file, readFileSync(join(RELEASED_FOLDER, file))]),
    )
    for (const name of ['embed.js', 'frame.js'] as const) {
      const {
        fileName,
        bodies: { identity: body },
      } = loadAssets(BUILT_FOLDER).get(name)
      expect(released.get(fileName)?.equals(body), `"npm run release:assets" must add ${fileName}`).toBe(true)
    }
    for (const [file, body] of released) {
      const hash = createHash('sha256').update(body).digest('hex').slice(0, 8)
      expect(file).toMatch(new RegExp(`^(?:(?:embed|frame)\\.${hash}\\.js|vitrine\\.${hash}\\.css)$`))
    }
  })

  it('docs/operate/errors.md - headings - equal the codes of src/errors.ts', () => {
    const codes = [...read('src/errors.ts').matchAll(/readonly code = '(VITRINE_[A-Z_]+)'/g)].map(
      ([, code]) => code,
    )
    const headings = [...read('docs/operate/errors.md').matchAll(/^## (VITRINE_[A-Z_]+)$/gm)].map(
      ([, code]) => code,
    )
    expect(new Set(headings)).toEqual(new Set(codes))
    expect(codes.length).toBe(new Set(codes).size)
  })

  it('errors - each exported class has a name that ends in Error and its own code', () => {
    const bases = new Set(['VitrineError', 'CatalogError', 'RequestError', 'StoreVersionError'])
    const concrete = Object.keys(errors).filter((name) => !bases.has(name))
    expect(concrete.length).toBeGreaterThan(15)
    expect(read('src/errors.ts').match(/static readonly code = /g)).toHaveLength(concrete.length)
    for (const name of concrete) expect(name).toMatch(/Error$/)
  })

  it('settings - names of numeric settings - end with the unit', () => {
    const settings = Object.entries(SETTINGS) as [string, Setting<unknown>][]
    const numeric = settings.filter(([, { parser }]) => parser.expects.startsWith('a whole number'))
    expect(numeric.length).toBeGreaterThan(8)
    for (const [name] of numeric)
      expect(name).toMatch(/_(?:DAYS|SECONDS|MS|BYTES|ENTRIES|PER_HOUR|DAILY_LIMIT|PORT)$/)
  })

  it('docs - relative links - lead to existing files', () => {
    for (const page of ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...listFiles('docs', '.md')]) {
      for (const [, target = ''] of read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
        expect(existsSync(join(PACKAGE_FOLDER, dirname(page), target)), `${page} -> ${target}`).toBe(true)
      }
    }
  })

  it('threats - the tests of each defence exist', () => {
    const rows = read('SECURITY.md')
      .split('\n')
      .filter((line) => /^\|[^|]+\|[^|]+\|[^|]*`test\//.test(line))
    expect(rows.length).toBeGreaterThan(35)
    for (const [row, path = ''] of read('SECURITY.md').matchAll(/`(test\/[\w/.-]+)`/g))
      expect(existsSync(join(PACKAGE_FOLDER, path)), row).toBe(true)
  })

  it('source - comments that refer to docs - refer to existing files', () => {
    for (const file of listFiles('src', '.ts')) {
      for (const [path] of read(file).matchAll(/docs\/[\w/.-]+\.md/g)) {
        expect(existsSync(join(PACKAGE_FOLDER, path)), `${file} -> ${path}`).toBe(true)
      }
    }
  })

  it('views - raw output is limited to partials, rendered widgets and JSON-LD', () => {
    for (const file of listFiles('views', '.eta')) {
      for (const [raw] of read(file).matchAll(/<%~[^%]*%>/g)) {
        expect(raw, file).toMatch(/^<%~ (?:include\('@[a-z-]*'|it\.body |it\.schema |example\.html )/)
      }
    }
  })

  it('tracked files - have no registry address and no machine path', () => {
    const tracked = execFileSync('git', ['ls-files'], { cwd: PACKAGE_FOLDER, encoding: 'utf8' }).split('\n')
    const texts = tracked.filter(
      (file) =>
        /\.(?:ts|mjs|json|md|eta|css|yml)$|^\.ci\//.test(file) && existsSync(join(PACKAGE_FOLDER, file)),
    )
    expect(texts.length).toBeGreaterThan(100)
    for (const file of texts) {
      expect(read(file).includes(PACKAGE_FOLDER), file).toBe(false)
      expect(/"resolved": "https?:/.test(read(file)), file).toBe(false)
    }
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FEED_FORMATS } from '../../../src/catalog-service/import/formats.ts'
import { type PresetName, listPresetFormats } from '../../../src/catalog-service/import/presets.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

const read = (path: string): string => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')

/** Formats of products of the contract, without a preset. */
const CONTRACT_FORMATS: ReadonlySet<string> = new Set(['ndjson', 'json'])

describe('formats of feeds', () => {
  test('table of the page for publishers - lists all', () => {
    const [, table = ''] = read('docs/publish/feeds.md').split('\n## Formats\n')
    const cells = [...table.matchAll(/^\| (`[^|]*`) +\|/gm)].map(([, cell = '']) => cell)
    expect(cells.flatMap((cell) => cell.replaceAll('`', '').split(', '))).toEqual(
      expect.arrayContaining(['--format', ...FEED_FORMATS]),
    )
  })

  test('recorded columns - are those of each preset and content', () => {
    const heads = [...read('test/recordings/columns.txt').matchAll(/^(\S+) (table|xml|json)\b/gm)]
    const recorded = new Set(heads.map(([, format, content]) => `${format} ${content}`))
    const presets = FEED_FORMATS.filter((name): name is PresetName => !CONTRACT_FORMATS.has(name))
    const expected = presets.flatMap((name) => listPresetFormats(name).map((content) => `${name} ${content}`))
    expect([...recorded].toSorted()).toEqual(expected.toSorted())
  })
})

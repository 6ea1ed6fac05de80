import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readSubData } from '../../src/config/sub-ids-file.ts'
import { ConfigError } from '../../src/errors.ts'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { SIGNATURE_PARAMETERS, createSubRules } from '../../src/offers/sub-ids.ts'

const folder = mkdtempSync(join(tmpdir(), 'vitrine-sub-ids-'))
const NET = { hosts: ['go.example'], maxCharacters: 20, forms: [{ parameter: 'ref' }] }

function write(content: unknown): string {
  const path = join(folder, 'sub-ids.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

function findProblem(path: string): string {
  try {
    readSubData(path)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.join('\n')
    throw error
  }
  throw new Error('the file was accepted')
}

describe('sub-ids file', () => {
  test('no path - no rules', () => {
    expect(readSubData(null)).toEqual({ networks: [], digest: '' })
  })

  test('every field - is read, with defaults for the optional ones', () => {
    const { networks } = readSubData(
      write({
        Net: NET,
        Other: {
          aliases: ['other.example'],
          hosts: ['*.Links.example'],
          maxCharacters: 30,
          signatures: [],
          forms: [
            { start: '/c?', parameter: 'r', position: 'last' },
            { start: '/d/', insert: '/sub:{sub}', before: ['/to:', '?'] },
            { insert: 'e({sub})' },
          ],
          source: 'https://docs.example/sub-ids',
          note: 'anything',
        },
      }),
    )
    expect(networks).toEqual([
      {
        names: ['Net'],
        hosts: ['go.example'],
        maxCharacters: 20,
        signatures: SIGNATURE_PARAMETERS,
        forms: [{ start: '', kind: 'parameter', name: 'ref', isLast: false }],
      },
      {
        names: ['Other', 'other.example'],
        hosts: ['*.links.example'],
        maxCharacters: 30,
        signatures: [],
        forms: [
          { start: '/c?', kind: 'parameter', name: 'r', isLast: true },
          { start: '/d/', kind: 'insert', insert: '/sub:{sub}', before: ['/to:', '?'] },
          { start: '', kind: 'insert', insert: 'e({sub})', before: [] },
        ],
      },
    ])
  })

  test('data sent to a worker as JSON - gives the same rules', () => {
    const { networks } = readSubData(write({ Net: { ...NET, aliases: ['Réseau  Un'] } }))
    const sent = JSON.parse(JSON.stringify(networks)) as typeof networks
    const offer = { network: 'RÉSEAU UN', affiliateUrl: 'https://go.example/?a=1' }
    expect(createSubRules(sent).findPosition(offer)).toEqual(createSubRules(networks).findPosition(offer))
    expect(createSubRules(sent).findPosition(offer)).toEqual({
      index: 20,
      before: 'ref=',
      after: '&',
      maxCharacters: 20,
    })
  })

  test('digest - is equal for equal files only', () => {
    const first = readSubData(write({ Net: NET })).digest
    expect(readSubData(write({ Net: NET })).digest).toBe(first)
    expect(readSubData(write({ Net: { ...NET, maxCharacters: 21 } })).digest).not.toBe(first)
  })

  test('example of docs/publish/sub-ids.md - is accepted', () => {
    const page = readFileSync(join(PACKAGE_FOLDER, 'docs/publish/sub-ids.md'), 'utf8')
    const [, example = ''] = /```json\n(.*?)```/s.exec(page) ?? []
    expect(readSubData(write(example)).networks.map(({ forms }) => forms.length)).toEqual([1, 2])
  })

  test('byte order mark of an editor - is accepted', () => {
    expect(readSubData(write(`\uFEFF${JSON.stringify({ Net: NET })}`)).networks).toHaveLength(1)
  })

  test.each([
    ['{', /^VITRINE_SUB_IDS_FILE: the file is not JSON/],
    [[], /expected record/],
    [{ Net: { ...NET, host: 'x' } }, /"Net": Unrecognized key: "host"/],
    [{ Net: { ...NET, hosts: [] } }, /"Net" "hosts"/],
    [{ Net: { ...NET, hosts: ['https://go.example/'] } }, /expected a host such as "www\.example\.com"/],
    [{ Net: { ...NET, hosts: ['*.'] } }, /"Net" "hosts" 0: expected a host/],
    [{ Net: { ...NET, maxCharacters: 0 } }, /"Net" "maxCharacters"/],
    [{ Net: { ...NET, forms: [] } }, /"Net" "forms"/],
    [{ Net: { ...NET, forms: [{}] } }, /"forms" 0: expected either "parameter" or "insert"/],
    [
      { Net: { ...NET, forms: [{ parameter: 'a', insert: '/b:{sub}' }] } },
      /expected either "parameter" or "insert"/,
    ],
    [{ Net: { ...NET, forms: [{ parameter: 'a', before: ['b'] }] } }, /"before" to "insert"/],
    [{ Net: { ...NET, forms: [{ insert: '/b:{sub}', position: 'last' }] } }, /"position" belongs to/],
    [{ Net: { ...NET, forms: [{ parameter: 'a=b' }] } }, /expected the name of a query parameter/],
    [
      { Net: { ...NET, forms: [{ insert: '/{sub}' }] } },
      /expected part of a link with a name and one \{sub\}/,
    ],
    [{ Net: { ...NET, forms: [{ insert: '/b:' }] } }, /one \{sub\}/],
    [{ Net: { ...NET, forms: [{ insert: '/b:{sub}{sub}' }] } }, /one \{sub\}/],
    [{ Net: { ...NET, forms: [{ insert: '#b:{sub}' }] } }, /one \{sub\}/],
    [{ Net: { ...NET, forms: [{ insert: '"b:{sub}' }] } }, /one \{sub\}/],
    [{ Net: { ...NET, forms: [{ start: 'click', parameter: 'a' }] } }, /expected the beginning of a path/],
    [{ Net: NET, NET }, /the name "net" belongs to two networks, "Net" and "NET"/],
    [{ Net: NET, Other: { ...NET, aliases: ['net'] } }, /belongs to two networks, "Net" and "Other"/],
  ])('%j - is refused, and the message says why', (content, problem) => {
    expect(findProblem(write(content))).toMatch(problem)
  })

  test('absent file - is refused', () => {
    expect(() => readSubData(join(folder, 'absent.json'))).toThrow(
      'VITRINE_SUB_IDS_FILE: the file does not exist',
    )
  })
})

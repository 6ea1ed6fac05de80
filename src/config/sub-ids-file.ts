import { hash } from 'node:crypto'
import { type output, array, int, literal, record, strictObject, string } from 'zod'
import { ConfigError } from '../errors.ts'
import {
  MAX_INSERT_CHARACTERS,
  SIGNATURE_PARAMETERS,
  type SubForm,
  type SubNetwork,
} from '../offers/sub-ids.ts'
import { foldCase } from '../offers/text.ts'
import { readJsonFile } from './json-file.ts'

/** What the sub-ids file says, as JSON: the primary reads it and sends it to the workers. */
export type SubData = Readonly<{
  networks: readonly SubNetwork[]
  /** Equal only for equal files. */
  digest: string
}>

const SETTING = 'VITRINE_SUB_IDS_FILE'

const HINT =
  'fields of a network: hosts, maxCharacters, parameter or forms, aliases, signatures, source, note; of a form: start, parameter, position, insert, before'

/** Longer values are mistakes; only the first 32 characters can be used. */
const MAX_MAX_CHARACTERS = 1_000

const name = string().regex(/^\P{Cc}{1,100}$/u, 'expected a name')
const host = string()
  .toLowerCase()
  .regex(
    /^(?:\*\.)?[a-z\d-]+(?:\.[a-z\d-]+)+$/,
    'expected a host such as "www.example.com" or "*.example.com"',
  )
const parameterName = string().regex(/^[\w.~-]{1,50}$/, 'expected the name of a query parameter')
/** Characters of URLs, without "#". */
const linkText = string().regex(/^[\w!$%&'()*+,./:;=?@~-]{1,64}$/, 'expected part of a link')
const insertText = string()
  .max(MAX_INSERT_CHARACTERS, `expected at most ${MAX_INSERT_CHARACTERS} characters`)
  .regex(
    /^[!$&'()*+,./:;=?@~-]*\w[\w!$&'()*+,./:;=?@~-]*\{sub\}[\w!$&'()*+,./:;=?@~-]*$/,
    'expected part of a link with a name and one {sub}, such as "/pubref:{sub}"',
  )

const formSchema = strictObject({
  start: linkText.startsWith('/', 'expected the beginning of a path, such as "/click?"').optional(),
  parameter: parameterName.optional(),
  position: literal(['first', 'last']).optional(),
  insert: insertText.optional(),
  before: array(linkText).min(1).optional(),
})
  .refine(
    ({ parameter, insert }) => (parameter === undefined) !== (insert === undefined),
    'expected either "parameter" or "insert"',
  )
  .refine(
    ({ parameter, position, before }) => (parameter === undefined ? position : before) === undefined,
    '"position" belongs to "parameter", and "before" to "insert"',
  )
  .transform(({ start = '', parameter, position, insert = '', before = [] }): SubForm =>
    parameter === undefined
      ? { start, kind: 'insert', insert, before }
      : { start, kind: 'parameter', name: parameter, isLast: position === 'last' },
  )

const networksSchema = record(
  name,
  strictObject({
    hosts: array(host).min(1),
    maxCharacters: int().min(1).max(MAX_MAX_CHARACTERS),
    /** Short for one form with this parameter. */
    parameter: parameterName.optional(),
    forms: array(formSchema).min(1).optional(),
    aliases: array(name).default([]),
    signatures: array(parameterName).default([...SIGNATURE_PARAMETERS]),
    /** For people: where the facts are from, and what to know about them. */
    source: string().optional(),
    note: string().optional(),
  })
    .refine(
      ({ parameter, forms }) => (parameter === undefined) !== (forms === undefined),
      'expected either "parameter" or "forms"',
    )
    .transform(({ parameter = '', forms, ...network }) => ({
      ...network,
      forms: forms ?? [{ start: '', kind: 'parameter', name: parameter, isLast: false } satisfies SubForm],
    })),
)

/**
 * Read the file of `VITRINE_SUB_IDS_FILE`; without a path, no rules.
 * @throws ConfigError that says what is wrong
 */
export function readSubData(path: string | null): SubData {
  if (path === null) return { networks: [], digest: '' }
  const { text, data } = readJsonFile(path, { setting: SETTING, schema: networksSchema, hint: HINT })
  checkNames(data)
  const networks = Object.entries(data).map(
    ([network, { aliases, hosts, maxCharacters, signatures, forms }]) => ({
      names: [network, ...aliases],
      hosts,
      maxCharacters,
      signatures,
      forms,
    }),
  )
  return { networks, digest: hash('sha256', text) }
}

/** Two networks with one name would be ambiguous. */
function checkNames(networks: output<typeof networksSchema>): void {
  const owners = new Map<string, string>()
  for (const [network, { aliases }] of Object.entries(networks)) {
    for (const folded of new Set([network, ...aliases].map(foldCase))) {
      const owner = owners.get(folded)
      if (owner !== undefined)
        throw new ConfigError([
          `${SETTING}: the name ${JSON.stringify(folded)} belongs to two networks, "${owner}" and "${network}"`,
        ])
      owners.set(folded, network)
    }
  }
}

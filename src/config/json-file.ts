import type { ZodType } from 'zod'
import { ConfigError } from '../errors.ts'
import { readSettingsFile } from './settings-file.ts'

/** Problems of a file that a message lists; the others are often the same mistake. */
const MAX_PROBLEMS = 5

/**
 * Read the JSON file of a setting. `hint`: the fields that its entries may have.
 * @throws ConfigError that says what is wrong, or FileError
 */
export function readJsonFile<T>(
  path: string,
  { setting, schema, hint }: Readonly<{ setting: string; schema: ZodType<T>; hint: string }>,
): Readonly<{ text: string; data: T }> {
  const fail = (problem: string) => new ConfigError([`${setting}: ${problem}`])
  const text = readSettingsFile(path, setting)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw fail(`the file is not JSON: ${error instanceof Error ? error.message : ''}`)
  }
  const { data, error } = schema.safeParse(json)
  if (data !== undefined) return { text, data }
  const problems = error?.issues.map(
    ({ path: parts, message }) => `${parts.map((part) => JSON.stringify(part)).join(' ')}: ${message}`,
  )
  throw fail(`the file has invalid entries (${hint}): ${problems?.slice(0, MAX_PROBLEMS).join('; ') ?? ''}`)
}

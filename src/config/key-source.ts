import { readFile } from 'node:fs/promises'
import { ConfigError } from '../errors.ts'
import { decodeTextFile } from '../lib/files.ts'
import { isInQuotes } from './parsers.ts'
import { type Secret, type Secrets, parseSecret } from './secrets.ts'
import { readSettingsFile } from './settings-file.ts'

const SETTING = 'VITRINE_CATALOG_KEY_FILE'

/** Provides the key for each catalog call. */
export type KeySource = Readonly<{
  current(): Secret
  /** Read the key file again, if there is one. Resolves to `true` if the key changed; never rejects. */
  refresh(): Promise<boolean>
}>

/** @throws ConfigError when there is no key, or its file contains no valid key; FileError when the file cannot be read now. */
export function openKeySource({
  catalogKey,
  catalogKeyFile,
}: Pick<Secrets, 'catalogKey' | 'catalogKeyFile'>): KeySource {
  if (catalogKeyFile !== null) return openKeyFileSource(catalogKeyFile)
  if (catalogKey === null) throw new ConfigError(['VITRINE_CATALOG_URL: requires a key'])
  return createFixedKeySource(catalogKey)
}

export function createFixedKeySource(key: Secret): KeySource {
  return { current: () => key, refresh: () => Promise.resolve(false) }
}

/** A file allows key rotation without a restart. */
function openKeyFileSource(path: string): KeySource {
  let key = readKeyFile(path)
  return {
    current: () => key,
    async refresh() {
      const bytes = await readFile(path).catch(() => undefined)
      const next = bytes && parseKey(decodeTextFile(bytes) ?? '')
      if (next === undefined || next.reveal() === key.reveal()) return false
      key = next
      return true
    },
  }
}

function readKeyFile(path: string): Secret {
  const text = readSettingsFile(path, SETTING)
  const key = parseKey(text)
  if (key !== undefined) return key
  const problem = isInQuotes(text.trim())
    ? 'the key in the file is in quotes; remove them'
    : 'the file contains no valid key'
  throw new ConfigError([`${SETTING}: ${problem}`])
}

function parseKey(text: string): Secret | undefined {
  const key = text.trim()
  return isInQuotes(key) ? undefined : parseSecret(key)
}

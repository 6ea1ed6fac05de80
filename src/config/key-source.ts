import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { ConfigError } from '../errors.ts'
import { type Secret, type Secrets, parseSecret } from './secrets.ts'

/** Provides the key for each catalog call. */
export type KeySource = Readonly<{
  current(): Secret
  /** Read the key file again, if there is one. Resolves to `true` if the key changed; never rejects. */
  refresh(): Promise<boolean>
}>

/** @throws ConfigError when there is no key, or its file cannot be read or contains no valid key. */
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
      const next = parseSecret((await readFile(path, 'utf8').catch(() => '')).trim())
      if (next === undefined || next.reveal() === key.reveal()) return false
      key = next
      return true
    },
  }
}

function readKeyFile(path: string): Secret {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new ConfigError(['VITRINE_CATALOG_KEY_FILE: the file cannot be read'])
  }
  const key = parseSecret(text.trim())
  if (key === undefined) throw new ConfigError(['VITRINE_CATALOG_KEY_FILE: the file contains no valid key'])
  return key
}

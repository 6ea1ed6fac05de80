import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { ConfigError } from '../errors.ts'
import { type Secret, type Secrets, parseSecret } from './secrets.ts'

/** Where the catalog client takes its key from, at each call. */
export type KeySource = Readonly<{
  current(): Secret
  /** Reads the key again where it has a file; `true` when it is another one now. Never throws. */
  refresh(): Promise<boolean>
}>

/**
 * Open the key of a remote catalog.
 * @throws ConfigError when there is none, or when its file cannot be read or holds no usable key.
 */
export function openKeySource({ catalogKey, catalogKeyFile }: Omit<Secrets, 'adminPassword'>): KeySource {
  if (catalogKeyFile !== null) return openKeyFileSource(catalogKeyFile)
  if (catalogKey === null) throw new ConfigError(['VITRINE_CATALOG_URL: needs a key'])
  return createFixedKeySource(catalogKey)
}

/** A key that never changes while the process lives. */
export function createFixedKeySource(key: Secret): KeySource {
  return { current: () => key, refresh: () => Promise.resolve(false) }
}

/** A key in a file, so that it can be rotated without a restart. */
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
  if (key === undefined) throw new ConfigError(['VITRINE_CATALOG_KEY_FILE: the file holds no usable key'])
  return key
}

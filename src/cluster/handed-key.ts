import type { KeySource } from '../config/key-source.ts'
import { Secret } from '../config/secrets.ts'

/** A worker's key: it came from the primary, which alone reads files, and may be replaced from there at any time. */
export type HandedKey = KeySource & Readonly<{ take(key: string): void }>

/** `askAgain`: the primary reads its file again, and answers with the key; `undefined` where it does not answer. */
export function createHandedKey(first: string, askAgain: () => Promise<unknown>): HandedKey {
  let key = new Secret(first)
  const take = (next: string): boolean => {
    if (next === key.reveal()) return false
    key = new Secret(next)
    return true
  }
  return {
    current: () => key,
    take,
    async refresh() {
      const before = key
      const next = await askAgain()
      if (typeof next === 'string') take(next)
      return key !== before
    },
  }
}

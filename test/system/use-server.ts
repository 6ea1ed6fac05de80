import { afterAll, beforeAll } from 'vitest'
import { type BuiltServer, type ServedAddresses, startBuiltServer } from '../helpers/built-server.ts'
import { getShared } from './shared.ts'

/** Addresses of the built server with its sample data that all system tests share; nobody stops it or changes what it has. */
export const getSampleServer = (): Promise<ServedAddresses> => getShared('server')

/**
 * A built server with its sample data for a test file, from `beforeAll` on: the one that all share, or one of the file's own where
 * it needs settings.
 */
export function useServer(
  settings?: Readonly<Record<string, string>>,
): Readonly<{ readonly addresses: ServedAddresses }> {
  const made: { addresses?: ServedAddresses; own?: BuiltServer } = {}
  beforeAll(async () => {
    if (settings !== undefined) made.own = await startBuiltServer(settings)
    made.addresses = made.own?.addresses ?? (await getSampleServer())
  })
  afterAll(() => made.own?.stop())
  return {
    get addresses() {
      if (made.addresses === undefined) throw new Error('there is no server before the tests')
      return made.addresses
    },
  }
}

import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { type ServedAddresses, startBuiltServer } from '../helpers/built-server.ts'
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
  const get = setUpOnce(async () => {
    if (settings === undefined) return getSampleServer()
    const own = await startBuiltServer(settings)
    addCleanup(() => own.stop())
    return own.addresses
  })
  return {
    get addresses() {
      return get()
    },
  }
}

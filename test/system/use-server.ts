import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { type ServedAddresses, startBuiltServer } from '../helpers/built-server.ts'
import { getShared } from './shared.ts'

/** Addresses of the shared built server with sample data; no test may stop it or change its data. */
export const getSampleServer = (): Promise<ServedAddresses> => getShared('server')

/**
 * Use a built server with sample data in a test file, from `beforeAll` on: the shared one, or a separate one if `settings` are
 * given.
 */
export function useServer(
  settings?: Readonly<Record<string, string>>,
): Readonly<{ readonly addresses: ServedAddresses }> {
  const get = setUpOnce(async () => {
    if (settings === undefined) return getSampleServer()
    const server = await startBuiltServer(settings)
    addCleanup(() => server.stop())
    return server.addresses
  })
  return {
    get addresses() {
      return get()
    },
  }
}

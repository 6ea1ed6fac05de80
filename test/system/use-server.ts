import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { type ServedAddresses, startBuiltServer } from '../helpers/built-server.ts'
import { getShared } from './shared.ts'

/** Addresses of the shared built server with sample data. Tests must not stop it or change its data. */
export const getSampleServer = (): Promise<ServedAddresses> => getShared('server')

/**
 * A built server with sample data for a test file, from `beforeAll` on: the shared one, or a separate one when the file
 * needs settings.
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

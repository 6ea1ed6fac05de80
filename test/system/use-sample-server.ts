import { beforeAll } from 'vitest'
import type { ServedAddresses } from '../helpers/built-server.ts'
import { getProgram } from './shared-programs.ts'

/** Use the built server with its sample data that all files share: for tests that only read. It is there from `beforeAll` on. */
export function useSampleServer(): Readonly<{ addresses: ServedAddresses }> {
  const known: { addresses?: ServedAddresses } = {}
  beforeAll(async () => {
    known.addresses = await getProgram('sample')
  })
  return {
    get addresses() {
      if (known.addresses === undefined) throw new Error('there is no server before the tests')
      return known.addresses
    },
  }
}

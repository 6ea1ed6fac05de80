import type { ServedAddresses } from '../helpers/built-server.ts'
import type { DatabaseReference } from './wordpress/database.ts'

/**
 * The programs that all test files share, each with its address: the Playwright endpoint, a built server with sample data,
 * and the database of an installed WordPress, which is only copied.
 */
export type SharedPrograms = Readonly<{
  browser: string
  server: ServedAddresses
  wordpress: DatabaseReference
}>

/** Environment variable with the address from which test processes get them. */
export const SHARED_PROGRAMS = 'TEST_PROGRAMS_URL'

/** Get the address of a shared program; the first call of all files starts it. */
export async function getShared<Name extends keyof SharedPrograms>(
  name: Name,
): Promise<SharedPrograms[Name]> {
  // oxlint-disable-next-line node/no-process-env -- address of test programs, not a setting
  const url = process.env[SHARED_PROGRAMS]
  if (url === undefined) throw new Error(`${SHARED_PROGRAMS} is not set: only system tests share programs`)
  const response = await fetch(`${url}/${name}`)
  if (!response.ok) throw new Error(`"${name}" did not start: ${await response.text()}`)
  return (await response.json()) as SharedPrograms[Name]
}

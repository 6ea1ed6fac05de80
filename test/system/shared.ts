import type { ServedAddresses } from '../helpers/built-server.ts'
import type { BuiltSite } from './site/start-site.ts'
import type { Sites } from './start-sites.ts'
import type { WebkitAddress } from './start-webkit.ts'
import type { DatabaseReference } from './wordpress/database.ts'

/**
 * Programs that all test files share, and how to reach them: the endpoints of Playwright and Firefox, a driver of WebKit, the
 * addresses of a built server with sample data, the origins of sites that frameworks have built, the built documentation, and
 * the database of an installed WordPress, which tests only copy.
 */
export type SharedPrograms = Readonly<{
  browser: string
  firefox: string
  webkit: WebkitAddress
  server: ServedAddresses
  documentation: BuiltSite
  sites: Sites
  wordpress: DatabaseReference
}>

/** Environment variable with the URL where test processes request the shared programs. */
export const SHARED_PROGRAMS = 'TEST_PROGRAMS_URL'

/** Get the address of a shared program; the first call from any file starts it. */
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

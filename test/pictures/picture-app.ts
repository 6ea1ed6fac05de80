import { toPictureHash } from '../../src/offers/pictures.ts'
import { createPictureChecker, STAND_IN } from '../../src/pictures/convert-picture.ts'
import { type TestResponse, fetchPath } from '../app/app-client.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { type Harness, type HarnessOptions, createHarness } from '../helpers/harness.ts'
import { type PictureHost, startPictureHost } from './picture-host.ts'

/** A widget server that serves pictures, and the host that it fetches them from. */
export type PictureApp = Readonly<{
  harness: Harness
  host: PictureHost
  /** Request a picture, as a page that shows it does. */
  request(address: string, width?: number, headers?: Readonly<Record<string, string>>): Promise<TestResponse>
}>

/** `hasSharp`: `false` for a server without the package `sharp`. */
export type PictureAppOptions = HarnessOptions & Readonly<{ hasSharp?: boolean }>

export async function startPictureApp({
  hasSharp = true,
  settings,
  over,
}: PictureAppOptions = {}): Promise<PictureApp> {
  const host = await startPictureHost()
  addCleanup(() => host.close())
  const harness = await createHarness({
    settings: { VITRINE_PICTURES: 'proxy', ...settings },
    over: {
      pictureNetwork: host.network,
      ...(!hasSharp && { openConverter: () => Promise.resolve(createPictureChecker()) }),
      ...over,
    },
  })
  addCleanup(() => harness.dispose())
  return {
    harness,
    host,
    request(address, width = 320, headers = {}) {
      harness.context.pictures?.publish(address)
      return fetchPath(harness, toPicturePath(address, width), headers)
    },
  }
}

export function toPicturePath(address: string, width: number): string {
  return `/pictures/${toPictureHash(address)}/${width}`
}

/** What a visitor gets: a kind of picture, and for how long it may be used. */
export function describeResponse({ status, headers, body }: TestResponse): string {
  const kind = body.equals(STAND_IN) ? 'stand-in' : (headers['content-type'] ?? '')
  return `${status} ${kind}, ${headers['cache-control'] ?? ''}`
}

export const REMEMBERED_STAND_IN = '200 stand-in, public, max-age=3600'
export const PASSING_STAND_IN = '200 stand-in, no-store'
export const SHOWN_WEBP = '200 image/webp, public, max-age=86400, immutable'

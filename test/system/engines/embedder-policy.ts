import { afterAll, beforeAll, expect, test } from 'vitest'
import { BOX_EMBED } from '../../app/app-client.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { makePicture } from '../../pictures/picture-bytes.ts'
import { usePictureServer } from '../picture-server.ts'
import { useServer } from '../use-server.ts'
import type { EnginePage } from './engine.ts'
import { defineSuite, waitUntil } from './use-engine.ts'

const HEADER = 'Cross-Origin-Embedder-Policy'

/** Policies of pages; `null`: none, the usual case. */
const POLICIES = [null, 'credentialless', 'require-corp'] as const

const getPictureServer = usePictureServer()
const server = useServer()
let publisher: PageServer
let widgets: PageServer
let shop: PageServer
beforeAll(async () => {
  publisher = await startPageServer()
  widgets = await startPageServer()
  // Sends no `Cross-Origin-Resource-Policy`, like the hosts of shops.
  shop = await startPageServer()
  shop.responses.set('/1.jpg', {
    type: 'image/jpeg',
    body: await makePicture('jpeg', { width: 90, height: 90 }),
  })
})
afterAll(() => Promise.all([publisher, widgets, shop].map((one) => one.close())))

/** Open a page with an embedder policy and a frame. Return what the frame has loaded. */
async function openFrame(page: EnginePage, policy: string | null, url: string): Promise<unknown> {
  publisher.responses.set('/', {
    ...(toHtmlResponse(
      `<!doctype html><title>Article</title><script>addEventListener("message", ({ data }) => { document.title = data.type })</script><iframe src="${url}" width="600" height="900"></iframe>`,
    ) as NonNullable<ReturnType<typeof toHtmlResponse>>),
    headers: policy === null ? {} : { [HEADER]: policy },
  })
  await page.goto(`${publisher.origin}/`)
  // The script of the frame has run. A frame that is refused reports nothing.
  await waitUntil(page, "document.title === 'height'")
  await loadPictures({ evaluate: (expression) => page.evaluate(expression, 'iframe') })
  return page.evaluate(
    `({
      isStyled: getComputedStyle(document.querySelector('.vitrine')).borderTopWidth === '2px',
      arePicturesShown: [...document.images].map(({ naturalWidth }) => naturalWidth > 0),
    })`,
    'iframe',
  )
}

const COMPLETE = { isStyled: true, arePicturesShown: [true] }

export const embedderPolicySuite = defineSuite('pages with an embedder policy', (engine) => {
  test.each(POLICIES)(
    '%s, pictures from this server - the frame is shown with everything',
    async (policy) => {
      const page = await engine.open()
      const url = `${getPictureServer().publicUrl}${BOX_EMBED}?accent=aa0000`
      expect(await openFrame(page, policy, url)).toEqual(COMPLETE)
    },
  )

  // WebKit does not know `credentialless`, so a page with `require-corp` shows no such frame there.
  test.each(POLICIES.filter((policy) => engine.name !== 'WebKit' || policy !== 'require-corp'))(
    '%s, pictures from the hosts of shops - the frame is shown with everything',
    async (policy) => {
      const response = await fetch(server.addresses.box)
      const html = (await response.text()).replace(
        /<img src="[^"]+"( srcset="[^"]+" sizes="[^"]+")?/,
        `<img src="${shop.origin}/1.jpg"`,
      )
      widgets.responses.set('/', {
        type: 'text/html; charset=utf-8',
        body: html,
        headers: {
          [HEADER]: response.headers.get(HEADER) ?? '',
          'Cross-Origin-Resource-Policy': response.headers.get('Cross-Origin-Resource-Policy') ?? '',
        },
      })
      const page = await engine.open()
      expect(await openFrame(page, policy, `${widgets.origin}/`)).toEqual(COMPLETE)
    },
  )
})

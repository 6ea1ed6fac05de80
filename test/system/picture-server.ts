import { systemClock } from '../../src/clock.ts'
import { listenHttp } from '../../src/http/server.ts'
import { makeProductOnSale, stockCatalog } from '../app/app-client.ts'
import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { toGtin } from '../helpers/products.ts'
import { type PictureApp, startPictureApp } from '../pictures/picture-app.ts'
import { makePicture } from '../pictures/picture-bytes.ts'
import { sendBody } from '../pictures/picture-host.ts'

/** Admin password of the server. */
export const PASSWORD = 'p4ss'

/** A server whose pictures come from another host, and its public address. */
export const usePictureServer = () =>
  setUpOnce(async (): Promise<PictureApp & Readonly<{ publicUrl: string }>> => {
    const server = await listenHttp('127.0.0.1', 0, systemClock)
    addCleanup(() => server.stop())
    const publicUrl = `http://127.0.0.1:${server.port}`
    const settings = {
      VITRINE_PUBLIC_URL: publicUrl,
      VITRINE_ADMIN_PASSWORD: PASSWORD,
      VITRINE_FRAME_ANCESTORS: '*',
    }
    const app = await startPictureApp({ settings })
    const picture = await makePicture('jpeg', { width: 1_200, height: 900 })
    const products = Array.from({ length: 12 }, (_, index) =>
      makeProductOnSale({
        gtin: toGtin(index),
        title: `Lamp ${index}`,
        images: [{ url: app.host.serve(`/${index}.jpg`, sendBody(picture)) }],
      }),
    )
    const box = makeProductOnSale({ images: [{ url: app.host.serve('/box.jpg', sendBody(picture)) }] })
    await stockCatalog(app.harness, [box, ...products])
    server.setHandler(app.harness.app)
    return { ...app, publicUrl }
  })

// Records what each address of both servers sends. A difference is a change for readers, publishers or operators.
import { expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { createDemo } from '../../src/catalog-service/sample/sample-data.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { toPictureHash } from '../../src/offers/pictures.ts'
import { fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import { makePicture } from '../pictures/picture-bytes.ts'
import { startPictureHost, sendBody } from '../pictures/picture-host.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import * as addresses from './addresses.ts'
import * as catalog from './catalog.ts'
import { Recorder } from './recorder.ts'
import { LAMP, OPEN_SETTINGS, listenOn, startSample, writeSettingsFiles } from './sample.ts'
import * as widgets from './widget-addresses.ts'

test('widget server, all surfaces open - responses are as recorded', async () => {
  const recorder = new Recorder()
  const settings = { ...OPEN_SETTINGS, ...writeSettingsFiles() }
  const server = await startSample({ days: 31, settings })
  const embed = await fetchPath(server.harness, widgets.toBox('embeds', LAMP))
  const offerPath = /data-go="([^"]+)"/.exec(embed.text)?.[1] ?? ''
  const logoPath = /\/logos\/[\w.-]+/.exec(embed.text)?.[0] ?? ''
  await recorder.record('products and channels', server, widgets.PRODUCTS)
  await recorder.record('fragments, options', server, widgets.FRAGMENT_OPTIONS)
  await recorder.record('embeds, data and newsletters, options', server, widgets.OTHER_SURFACES)
  await recorder.record('feeds of deals', server, widgets.FEEDS)
  await recorder.record('encodings, conditional requests, methods, limits', server, addresses.PROTOCOL)
  await recorder.record('oEmbed', server, addresses.OEMBED)
  await recorder.record('redirects to shops', server, addresses.toRedirects(`/go/${CHANNEL_ID}/${offerPath}`))
  await recorder.record('assets', server, [...addresses.ASSETS, { path: logoPath }])
  await recorder.record('studio', server, addresses.STUDIO)
  await recorder.record('health and metrics', server, addresses.HEALTH)
  await recorder.record('wrong passwords', server, addresses.WRONG_PASSWORDS)
  await expect(recorder.toText()).toMatchFileSnapshot('requests.txt')
})

test('widget server, other settings and data - responses are as recorded', async () => {
  const recorder = new Recorder()
  const closed = await startSample()
  await recorder.record('default settings', closed, [...widgets.FEW, ...addresses.CLOSED])
  const changed = await startSample({
    settings: {
      ...OPEN_SETTINGS,
      VITRINE_PUBLIC_URL: 'https://www.magazine.example/shop/widgets',
      VITRINE_LINKS: 'counted',
      VITRINE_CACHE_TAG_HEADER: 'Surrogate-Key',
      VITRINE_LOCALE: 'de',
      VITRINE_CURRENCY: 'USD',
      VITRINE_TIME_ZONE: 'Asia/Tokyo',
      VITRINE_DISCLOSURE: 'We earn <a> commission.',
      VITRINE_FRAME_ANCESTORS: 'https://*.partner.example',
    },
  })
  await recorder.record('other settings', changed, [...widgets.FEW, ...addresses.BELOW_PREFIX])
  const refused = await startSample({ days: 0, key: 'a-wrong-key', settings: OPEN_SETTINGS })
  await recorder.record('no copy, key refused', refused, [...widgets.FEW, ...addresses.HEALTH])
  const cold = await startSample({
    days: 0,
    settings: { ...OPEN_SETTINGS, VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '2' },
  })
  await recorder.record('no copy, two look-ups an hour', cold, [...widgets.FEW, ...widgets.UNKNOWN_PRODUCTS])
  await recordOldData(recorder)
  await recordDemo(recorder)
  await recordPictures(recorder)
  await expect(recorder.toText()).toMatchFileSnapshot('other-requests.txt')
})

/** Record a copy that ages while the catalog refuses the key. */
async function recordOldData(recorder: Recorder): Promise<void> {
  const server = await startSample({ settings: OPEN_SETTINGS })
  const { catalog, clock } = server.harness
  catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 401, {}) }
  const steps = { '10 minutes': 10 * MINUTE_MS, '2 hours': 2 * HOUR_MS, '2 days': 2 * DAY_MS }
  for (const [name, ms] of Object.entries(steps)) {
    clock.step(ms)
    await recorder.record(`copy, ${name} later`, server, widgets.FEW)
  }
}

async function recordDemo(recorder: Recorder): Promise<void> {
  const content = {
    readCatalogContent: () => Promise.resolve('sample' as const),
    readFeeds: () => Promise.resolve({ feeds: [], warnings: [] }),
  }
  const demo = {
    ...createDemo('https://widgets.example', content),
    showcase: { channelId: CHANNEL_ID, gtin: LAMP },
  }
  const server = await startSample({ over: { demo } })
  const { harness } = server
  const config = { ...harness.context.config, catalog: { kind: 'embedded' } as const }
  const app = createApp({ ...harness.context, config })
  const url = await listenOn(harness, app)
  await recorder.record('embedded catalog without a password', { ...server, url }, addresses.DEMO)
}

async function recordPictures(recorder: Recorder): Promise<void> {
  const host = await startPictureHost()
  addCleanup(() => host.close())
  const type = { 'content-type': 'image/jpeg' }
  const address = host.serve('/lamp.jpg', sendBody(await makePicture('jpeg'), type))
  host.serve('/chair-1.jpg', sendBody('no picture', type))
  const server = await startSample({
    settings: { ...OPEN_SETTINGS, VITRINE_PICTURES: 'proxy' },
    over: { pictureNetwork: host.network },
    pictureOrigin: new URL(address).origin,
  })
  const pictures = ['lamp.jpg', 'chair-1.jpg', 'chair-2.png', 'chair-3.webp', ...addresses.DEAL_PICTURES]
  const hashes = pictures.map((name) => [toPictureHash(address.replace('lamp.jpg', name)), name] as const)
  const randomNames = Object.fromEntries(hashes)
  const [[lamp] = [''], [broken] = [''], [missing] = ['']] = hashes
  const requests = [...widgets.FEW, ...addresses.toPictures({ lamp, broken, missing })]
  await recorder.record('pictures from this server', { ...server, randomNames }, requests)
}

test('catalog service - responses are as recorded', async () => {
  const recorder = new Recorder()
  const standalone = await catalog.startSampleCatalog({ standalone: catalog.STANDALONE })
  await recorder.record('standalone', standalone, catalog.toCatalogRequests(standalone.key))
  const embedded = await catalog.startSampleCatalog()
  await recorder.record('embedded', embedded, catalog.toCatalogRequests(embedded.key))
  const limited = await catalog.startSampleCatalog({ dailyLimit: catalog.DAILY_LIMIT })
  await recorder.record('daily limit', limited, catalog.toLimitedRequests(limited.key))
  await expect(recorder.toText()).toMatchFileSnapshot('catalog-requests.txt')
})

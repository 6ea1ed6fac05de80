/**
 * A shop with pictures and its catalog: `node bench/peers/picture-shop.mjs '{"key":"…","certificate":"…"}'`. It makes its
 * originals when it starts, serves them over https, and counts their bytes at `/sent`.
 */
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import sharp from 'sharp'
import { CHANNEL, toGtin } from '../lib/catalog-data.mjs'
import { serve } from './serve.mjs'

/** Cards of a grid, and the side of an original in pixels, as shops have them. */
const PICTURE_COUNT = 12
const SIDE_PX = 1_500

/** @returns a JPEG like a photograph: soft shapes, and some noise of the camera */
async function makePhotograph(index) {
  const noise = (size, sigma) => ({
    create: {
      width: size,
      height: size,
      channels: 3,
      background: { r: 120 + index * 8, g: 140, b: 160 - index * 6 },
      noise: { type: 'gaussian', mean: 128, sigma },
    },
  })
  const shapes = await sharp(noise(40, 60)).png().toBuffer()
  const grain = await sharp(noise(SIDE_PX, 14)).png().toBuffer()
  return sharp(shapes)
    .resize(SIDE_PX, SIDE_PX, { kernel: 'cubic' })
    .composite([{ input: grain, blend: 'soft-light' }])
    .jpeg({ quality: 82 })
    .toBuffer()
}

const originals = await Promise.all(
  Array.from({ length: PICTURE_COUNT }, (_, index) => makePhotograph(index)),
)
const { key, certificate } = JSON.parse(process.argv[2])
const host = createTlsServer({ key, cert: certificate }, (request, response) => {
  const body = originals[Number(/^\/(\d+)\.jpg$/.exec(request.url)?.[1])]
  if (body === undefined) response.writeHead(404).end()
  else response.writeHead(200, { 'Content-Type': 'image/jpeg', 'Content-Length': body.length }).end(body)
})
await new Promise((resolve) => host.listen(0, '127.0.0.1', resolve))

const toAddress = (index) => `https://pictures.example:${host.address().port}/${index}.jpg`
const toProduct = (index) => ({
  gtin: toGtin(index),
  title: `Sonderby Table Lamp ${index}, Moss Green`,
  brand: 'Sonderby',
  images: [{ url: toAddress(index) }],
  offers: [
    {
      merchant: { name: 'Harbour Market' },
      network: 'awin',
      price: `${49 + index}.90`,
      old_price: '99.90',
      currency: 'EUR',
      availability: 'in_stock',
      affiliate_url: `https://links.example/click?shop=harbour-market&page=https%3A%2F%2Fshop.example%2Fproducts%2F${toGtin(index)}`,
    },
  ],
})

const sendJson = (response, value) =>
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))

serve(
  createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://catalog')
    if (pathname === '/v0/channels') sendJson(response, { items: [CHANNEL] })
    else if (pathname.endsWith('/products'))
      sendJson(response, { items: originals.map((_, index) => toProduct(index)), next_cursor: null })
    else if (pathname === '/originals')
      sendJson(
        response,
        originals.map((body, index) => ({ address: toAddress(index), bytes: body.length })),
      )
    else response.writeHead(404, { 'Content-Type': 'application/json' }).end('{"error":"not found"}')
  }),
)

/** A minimal walk: fetch and parse each page. `node bench/peers/fetch-loop.mjs CATALOG`. */
import { Pool } from 'undici'
import { CHANNEL } from '../lib/catalog-data.mjs'

const pool = new Pool(process.argv[2], { connections: 1 })
const startedMs = performance.now()
let products = 0
let cursor = null
do {
  const query = cursor === null ? 'limit=200' : `limit=200&cursor=${cursor}`
  const path = `/v0/channels/${CHANNEL.id}/products?${query}`
  const { body } = await pool.request({ method: 'GET', path })
  const page = await body.json()
  products += page.items.length
  cursor = page.next_cursor
} while (cursor !== null)
const seconds = (performance.now() - startedMs) / 1e3
await pool.close()
process.stdout.write(JSON.stringify({ products, seconds }))

/** The least that a walk can be: every page of a catalog is fetched and parsed as JSON. `node bench/peers/fetch-loop.mjs ORIGIN CHANNEL KEY`. */
import { Pool } from 'undici'

const [origin, channelId, key] = process.argv.slice(2)
const headers = { authorization: `Bearer ${key}` }
const pool = new Pool(origin, { connections: 1 })
const startedMs = performance.now()
let products = 0
let cursor = null
do {
  const query = cursor === null ? 'limit=200' : `limit=200&cursor=${cursor}`
  const path = `/v0/channels/${channelId}/products?${query}`
  const { body } = await pool.request({ method: 'GET', path, headers })
  const page = await body.json()
  products += page.items.length
  cursor = page.next_cursor
} while (cursor !== null)
const seconds = (performance.now() - startedMs) / 1e3
await pool.close()
process.stdout.write(JSON.stringify({ products, seconds }))

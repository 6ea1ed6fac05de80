/**
 * A simple server without Vitrine: Express renders the box of a product with Eta for each request.
 * `node bench/peers/express-eta.mjs [CATALOG]`: with the origin of a catalog, undici fetches the product from it; otherwise
 * products are in memory.
 */
import { createServer } from 'node:http'
import { Eta } from 'eta'
import express from 'express'
import { Pool } from 'undici'
import { CHANNEL, createCatalogData } from '../lib/catalog-data.mjs'
import { serve } from './serve.mjs'

const MEMORY_PRODUCTS = 10_000
const TEMPLATE = `<section class="box" aria-label="Where to buy <%= it.title %>">
<link rel="stylesheet" href="/style.css">
<h2><%= it.title %></h2>
<% if (it.image) { %><img src="<%= it.image %>" alt="" loading="lazy" width="160" height="160"><% } %>
<ul>
<% for (const offer of it.offers) { %>
<li class="offer"><a href="<%= offer.url %>" rel="sponsored nofollow noopener" target="_blank">
<span class="shop"><%= offer.shop %></span>
<% if (offer.oldPrice) { %><s><%= offer.oldPrice %></s> <span class="saving">-<%= offer.savingPercent %> %</span><% } %>
<span class="price"><%= offer.price %></span>
<span class="stock"><%= offer.isInStock ? 'In stock' : 'Out of stock' %></span>
</a></li>
<% } %>
</ul>
<p class="note">Prices as of <time datetime="<%= it.asOf %>"><%= it.asOfText %></time>. Links are advertising.</p>
</section>
`

const eta = new Eta()
const render = eta.compile(TEMPLATE).bind(eta)
const money = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' })
const time = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
const [origin] = process.argv.slice(2)
const pool = origin === undefined ? null : new Pool(origin, { connections: 64 })
const data = createCatalogData({ count: MEMORY_PRODUCTS })
const memory = new Map()
if (pool === null)
  for (let index = 0; index < MEMORY_PRODUCTS; index += 1) {
    const product = JSON.parse(data.toProduct(index))
    memory.set(product.gtin, product)
  }

async function fetchProduct(gtin) {
  const path = `/v0/channels/${CHANNEL.id}/products/${gtin}`
  const { body } = await pool.request({ method: 'GET', path })
  return body.json()
}

function toView({ title, images, offers }) {
  const sorted = offers.toSorted((a, b) => Number(a.price) - Number(b.price))
  const now = new Date()
  return {
    title,
    image: images[0]?.url,
    asOf: now.toISOString(),
    asOfText: time.format(now),
    offers: sorted.map((offer) => ({
      shop: offer.merchant.name,
      url: offer.affiliate_url,
      price: money.format(Number(offer.price)),
      oldPrice: offer.old_price && money.format(Number(offer.old_price)),
      savingPercent: offer.old_price && Math.round((1 - Number(offer.price) / Number(offer.old_price)) * 100),
      isInStock: offer.availability === 'in_stock',
    })),
  }
}

const app = express().disable('x-powered-by')
app.get('/fragments/:channel/where-to-buy/:gtin', async (request, response) => {
  const { gtin } = request.params
  const product = pool === null ? memory.get(gtin) : await fetchProduct(gtin)
  response.set('Cache-Control', 'public, max-age=60').send(render(toView(product)))
})
app.get('/healthz', (_request, response) => response.send('ok'))
serve(createServer(app))

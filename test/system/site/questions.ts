/** Questions of new users, the page that answers each, and its section; empty for the start of the page. */
export const QUESTIONS: readonly (readonly [question: string, path: string, anchor: string])[] = [
  ['How do I put a box into a WordPress post?', 'publish/wordpress.html', 'add-a-box-to-a-post'],
  ['How old can a price be?', 'operate/caching.html', 'maximum-age-of-a-price'],
  ['How do I rotate the API key?', 'operate/deployment.html', 'settings-and-checks'],
  ['Why is my box empty?', 'operate/health-and-metrics.html', 'empty-boxes'],
  ['How do I change the colours to match my site?', 'publish/styling.html', 'colours'],
  ['How do I hide a shop?', 'publish/options-all.html', 'exclude'],
  ['How do I import an Awin product feed?', 'publish/feeds.html', 'from-an-awin-address-to-a-box'],
  ['How do I run it with Docker?', 'operate/deployment.html', 'docker'],
  ['Does it use cookies or track readers?', 'index.html', ''],
  ['How do I put a CDN in front?', 'operate/cdn.html', 'cdn-settings'],
  ['Which Prometheus alerts do I need?', 'operate/health-and-metrics.html', 'alerts'],
  ['How big a server do I need for 100,000 products?', 'operate/sizing.html', 'cells'],
  ['How do I use PostgreSQL instead of SQLite?', 'operate/configuration.html', 'database-addresses'],
  ['How do I show several products in one box?', 'publish/round-ups.html', 'several-products-in-one-widget'],
  ['What do readers see when the catalog is down?', 'index.html', ''],
]

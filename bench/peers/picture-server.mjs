/**
 * The built widget server with a network in which `pictures.example` is public:
 * `node bench/peers/picture-server.mjs '{"catalog":"http://…","database":"sqlite:…","certificate":"…","pictures":"proxy"}'`.
 * `vitrine serve` itself would refuse the local host of the originals.
 */
import { createServer } from 'node:http'
import { createApp } from '../../dist/app.js'
import { systemClock } from '../../dist/clock.js'
import { parseConfig } from '../../dist/config/config.js'
import { createFixedKeySource } from '../../dist/config/key-source.js'
import { Secret } from '../../dist/config/secrets.js'
import { createContext } from '../../dist/context.js'
import { createLogger } from '../../dist/observability/logger.js'
import { runWalkInThread } from '../../dist/sync/walk-runner.js'
import { serve } from './serve.mjs'

const { catalog, database, certificate, pictures } = JSON.parse(process.argv[2])
const publicUrl = 'https://widgets.example'
const { config, secrets } = parseConfig({
  VITRINE_CATALOG_URL: catalog,
  VITRINE_CATALOG_KEY: 'bench',
  VITRINE_DATABASE_URL: database,
  VITRINE_PUBLIC_URL: publicUrl,
  VITRINE_PICTURES: pictures,
})
const context = await createContext({
  config,
  secrets,
  clock: systemClock,
  logger: createLogger({ level: 'fatal' }),
  publicUrl,
  catalog: { baseUrl: catalog, key: createFixedKeySource(new Secret('bench')), copyName: catalog },
  demo: null,
  walkRunner: runWalkInThread,
  pictureNetwork: {
    resolve: () => Promise.resolve([{ address: '93.184.216.34', family: 4 }]),
    toSocketAddress: () => ({ address: '127.0.0.1', family: 4 }),
    certificateAuthorities: certificate,
  },
})
await context.walks.runNow()
serve(createServer(createApp(context)))

import { randomBytes } from 'node:crypto'
import { createFixedKey, createKeyFile } from '../catalog/key-source.ts'
import { createCatalogService } from '../catalog-service/service.ts'
import { findSampleListing } from '../catalog-service/sample/listing.ts'
import { findSamplePicture } from '../catalog-service/sample/pictures/pictures.ts'
import { SAMPLE_SHOWCASE, putSampleData, refreshSampleData } from '../catalog-service/sample/put-sample.ts'
import { type CatalogStore, openCatalogStore } from '../catalog-service/store/open-store.ts'
import { findMeta } from '../catalog-service/store/meta.ts'
import { isSampleOnly } from '../catalog-service/store/sample-state.ts'
import { Secret } from '../config/secrets.ts'
import type { CatalogPlace, Demo } from '../context.ts'
import { ConfigError } from '../errors.ts'
import type { CommandContext } from './command.ts'

/** Bytes of the embedded catalog's key, which lives as long as the process and is stored nowhere. */
const OWN_KEY_BYTES = 32

/**
 * The catalog that a command calls: a remote one, or the embedded service, which is closed with it. `publicUrl` is where
 * the widget server's own pictures are: those of the sample data lie at the address that it was made for.
 */
export type OpenCatalog = Readonly<{
  place: CatalogPlace
  demo: Demo | null
  publicUrl: string
  close(): Promise<void>
}>

/** How this machine reaches a listener: one on every address by its name, one of IPv6 in brackets. */
export function toLocalUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** `publicUrl` is where the sample's pictures and shop are served; `mayPutSample` only at the start of `serve`. */
export type OpenCatalogOptions = Readonly<{ publicUrl: string; mayPutSample: boolean }>

/**
 * Opens what `VITRINE_CATALOG_URL` says, or starts the embedded catalog service on loopback at a port of its choice.
 * @throws ConfigError when the key file is not usable.
 * @throws StoreError when the embedded catalog's database cannot be opened.
 */
export async function openCatalog(
  context: CommandContext,
  options: OpenCatalogOptions,
): Promise<OpenCatalog> {
  const { catalog } = context.config
  if (catalog.kind === 'embedded') return openEmbedded(context, options)
  const { catalogKey, catalogKeyFile } = context.secrets
  const key =
    catalogKeyFile === null ? catalogKey && createFixedKey(catalogKey) : createKeyFile(catalogKeyFile)
  if (key === null) throw new ConfigError(['VITRINE_CATALOG_URL: needs a key'])
  return {
    place: { baseUrl: catalog.url, key, identity: catalog.url },
    demo: null,
    publicUrl: options.publicUrl,
    close: () => Promise.resolve(),
  }
}

async function openEmbedded(context: CommandContext, options: OpenCatalogOptions): Promise<OpenCatalog> {
  const { config, clock, logger } = context
  const store = await openCatalogStore({ path: config.catalogDatabase.path, clock })
  try {
    if (options.mayPutSample) {
      await putSampleData(store, options.publicUrl)
      await refreshSampleData(store, options.publicUrl)
    }
    const ownKey = new Secret(randomBytes(OWN_KEY_BYTES).toString('base64url'))
    const service = createCatalogService({ store, clock, logger, ownKey })
    const { url } = await service.listen('127.0.0.1', 0)
    const identity = `embedded:${await service.getCatalogId()}`
    const publicUrl = (await findMeta(store.reader, 'sample_base')) ?? options.publicUrl
    return {
      place: { baseUrl: url, key: createFixedKey(ownKey), identity },
      demo: createDemo(store, publicUrl),
      publicUrl,
      async close() {
        await service.close()
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

function createDemo(store: CatalogStore, publicUrl: string): Demo {
  return {
    findPicture: findSamplePicture,
    findListing: (pageUrl) => findSampleListing(pageUrl, publicUrl),
    showcase: SAMPLE_SHOWCASE,
    isSampleOnly: () => isSampleOnly(store.reader),
  }
}

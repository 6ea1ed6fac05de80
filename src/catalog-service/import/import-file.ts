import type { CatalogStore } from '../store/catalog-store.ts'
import { findFeed } from '../store/feeds.ts'
import { parseFeedName, toFeedName } from './feed-target.ts'
import { type ImportFeedOptions, type ImportSummary, importFeed } from './import-feed.ts'
import { type ReadSettings, toReadSettings } from './read-feed.ts'
import { listRejectsPaths } from './rejects-file.ts'

export type ImportFileOptions = Pick<
  ImportFeedOptions,
  'store' | 'maxRemovedPercent' | 'signal' | 'onProgress'
> &
  ReadSettings &
  Readonly<{
    /** Path of the file. */
    file: string
    /** What messages call the file, its `charset`, and where rejected rows go, when it was downloaded. */
    label?: string | undefined
    charset?: string | undefined
    rejectsPaths?: readonly string[] | undefined
    /** Name of the feed that the file replaces; default: `defaultFeedName`, else after the file. */
    feedName?: string | undefined
    defaultFeedName?: string | undefined
    /** Id of the channel; `prepareTarget` chooses one when it is absent. */
    channelId?: string | undefined
    /** Folder for the rejects when the feed's folder is not writable; default: the current folder. */
    currentFolder?: string | undefined
  }>

/** Import a file once. @throws what `importFeed` throws */
export async function importFile(options: ImportFileOptions): Promise<ImportSummary> {
  const { store, file, feedName, channelId, label = file, charset } = options
  const { rejectsPaths = listRejectsPaths(file, options.currentFolder) } = options
  const name =
    feedName === undefined ? (options.defaultFeedName ?? toFeedName(file)) : parseFeedName(feedName)
  const result = { etag: null, lastModified: null, contentDigest: null, fetchedAtMs: store.clock.nowMs() }
  const settings = { ...(await findStoredSettings(store, feedName)), ...listGivenSettings(options) }
  const { maxRemovedPercent, signal, onProgress } = options
  return importFeed({
    store,
    file: { path: file, label, charset, rejectsPaths, result },
    feed: { name, isNameChosen: feedName !== undefined, channelId },
    settings,
    maxRemovedPercent,
    signal,
    onProgress,
  })
}

/** A feed with an address keeps its settings, also for a file that was downloaded by hand. */
async function findStoredSettings({ read }: CatalogStore, name: string | undefined): Promise<ReadSettings> {
  const feed = name === undefined ? undefined : await read((reader) => findFeed(reader, name))
  return feed === undefined || feed.url === null ? {} : toReadSettings(feed)
}

function listGivenSettings(settings: ReadSettings): ReadSettings {
  const { format, map, network, merchant, currency, decimal, encoding } = settings
  return {
    ...(format !== undefined && { format }),
    ...(map !== undefined && { map }),
    ...(network !== undefined && { network }),
    ...(merchant !== undefined && { merchant }),
    ...(currency !== undefined && { currency }),
    ...(decimal !== undefined && { decimal }),
    ...(encoding !== undefined && { encoding }),
  }
}

import { parseFeedName, toFeedName } from './feed-names.ts'
import { type ImportFeedOptions, type ImportSummary, type ReadSettings, importFeed } from './import-feed.ts'
import { listRejectsPaths } from './rejects-file.ts'

export type ImportFileOptions = Pick<
  ImportFeedOptions,
  'store' | 'maxRemovedPercent' | 'signal' | 'onProgress'
> &
  ReadSettings &
  Readonly<{
    /** Path of the file. */
    file: string
    /** Name of the feed that the file replaces; default: after the file. */
    feedName?: string | undefined
    /** Id of the channel; `prepareTarget` chooses one when it is absent. */
    channelId?: string | undefined
    /** Folder for the rejects when the feed's folder is not writable; default: the current folder. */
    currentFolder?: string | undefined
  }>

/** Import a file once. @throws what `importFeed` throws */
export function importFile(options: ImportFileOptions): Promise<ImportSummary> {
  const { file, feedName, channelId, currentFolder, format, network, merchant, ...others } = options
  const name = feedName === undefined ? toFeedName(file) : parseFeedName(feedName)
  return importFeed({
    ...others,
    file: {
      path: file,
      label: file,
      rejectsPaths: listRejectsPaths(file, currentFolder),
      result: {
        fetchedAtMs: others.store.clock.nowMs(),
        ...{ etag: null, lastModified: null, contentDigest: null, settingsDigest: null },
      },
    },
    feed: { name, isNameChosen: feedName !== undefined, channelId },
    settings: { format, network, merchant },
  })
}

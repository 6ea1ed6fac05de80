import { createWriteStream, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseFeedAddress } from '../feeds/feed-address.ts'
import { createFeedsFolder, getFeedsFolder } from '../feeds/run-feed.ts'
import { hasFeedEnding, toFeedName } from '../import/feed-target.ts'
import type { ImportFileOptions } from '../import/import-file.ts'
import { ImportError } from '../../errors.ts'
import { parseUrl } from '../../lib/urls.ts'
import type { CommandContext } from '../../command.ts'

export type LocalFile = Pick<
  ImportFileOptions,
  'file' | 'label' | 'charset' | 'rejectsPaths' | 'feedName' | 'defaultFeedName'
>

/** `source`: a path, an address or `-`. `headerFile`: of an address. */
export type FileSource = Readonly<{
  source: string
  feedName?: string | undefined
  headerFile?: string | undefined
}>

/** Download an address, or store standard input, while `work` runs. */
export async function withLocalFile<Result>(
  { clock, config, io, secrets }: CommandContext,
  { source, feedName, headerFile }: FileSource,
  work: (file: LocalFile) => Promise<Result>,
): Promise<Result> {
  const isAddress = /^(?:[a-z][a-z\d+.-]*:\/\/|\$\{)/i.test(source)
  if (!isAddress && source !== '-') return work({ file: source, feedName })
  const folder = getFeedsFolder(config.catalogDatabase)
  createFeedsFolder(folder)
  const path = join(folder, `import-${process.pid}.download`)
  try {
    if (source === '-') {
      await storeStandardInput(path, io.signal)
      const label = 'standard input'
      return await work({ file: path, label, ...toNames(feedName, 'stdin') })
    }
    const { fetchFeed } = await import('../feeds/fetch-feed.ts')
    const url = parseFeedAddress(source)
    const fetched = await fetchFeed({
      url,
      headerFile: headerFile ?? null,
      secrets: secrets.feedSecrets,
      proxies: secrets.proxies,
      validators: null,
      path,
      clock,
      signal: io.signal,
    })
    const { label, charset } = fetched ?? { label: url, charset: undefined }
    // A file is read in place.
    return await work({
      file: fetched?.path ?? path,
      label,
      charset,
      ...toNames(feedName, toAddressName(url)),
    })
  } finally {
    rmSync(path, { force: true })
  }
}

function toNames(feedName: string | undefined, defaultFeedName: string) {
  return { feedName, defaultFeedName, rejectsPaths: [resolve(`${feedName ?? defaultFeedName}.rejects`)] }
}

/** Name a feed after the file in its address, else after its host: other parts of the path may be secret. */
function toAddressName(url: string): string {
  const { hostname = '', pathname = '' } = parseUrl(url.replaceAll(/\$\{[^}]*\}/g, '')) ?? {}
  return toFeedName(hasFeedEnding(pathname) ? pathname : hostname)
}

async function storeStandardInput(path: string, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }), { signal })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    throw new ImportError(`standard input cannot be stored (${code}); nothing was changed`)
  }
}

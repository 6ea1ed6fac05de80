import { basename } from 'node:path'
import { UsageError } from '../../errors.ts'
import { type Feed, findFeed } from '../store/feeds.ts'
import type { Catalog } from '../store/schema.ts'

export const FEED_NAME: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/i

const FEED_NAME_RULE =
  'a name of a feed has at most 64 letters, digits, dots, hyphens and underscores, and begins with a letter or digit'

/** Endings of file names that say nothing about the feed. */
const FILE_ENDINGS = /(?:\.(?:gz|zip|csv|tsv|txt|xml|json|jsonl|ndjson))+$/i

const MAX_NAME_CHARACTERS = 60

/** @throws UsageError when the name is not usable. */
export function parseFeedName(text: string): string {
  if (!FEED_NAME.test(text)) throw new UsageError(FEED_NAME_RULE)
  return text
}

export function hasFeedEnding(path: string): boolean {
  return FILE_ENDINGS.test(path)
}

/** Name a feed after its file: `data/Shop A.csv.gz` gives `Shop-A`. */
export function toFeedName(path: string): string {
  const name = basename(path)
    .replace(FILE_ENDINGS, '')
    .replace(/[^a-z0-9._-]+/gi, '-')
    .replace(/^[^a-z0-9]+|-+$/gi, '')
    .slice(0, MAX_NAME_CHARACTERS)
  return name === '' ? 'feed' : name
}

/**
 * Find the feed that an import by a command replaces, or a free name for a new one. A name that was derived from a file gets a
 * number when another channel or a feed with an address has it.
 * @throws UsageError when the name was chosen and belongs to another channel.
 */
export async function findFeedForImport(
  database: Catalog,
  channelId: string,
  { name, isNameChosen }: Readonly<{ name: string; isNameChosen: boolean }>,
): Promise<Readonly<{ name: string; existing: Feed | undefined }>> {
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}-${number}`
    const existing = await findFeed(database, candidate)
    if (existing === undefined) return { name: candidate, existing }
    const isOfChannel = existing.channelId === channelId
    if (isOfChannel && (isNameChosen || existing.url === null) && !existing.isMigrated)
      return { name: candidate, existing }
    if (isNameChosen)
      throw new UsageError(
        existing.isMigrated
          ? `the feed ${name} has offers from before feeds existed; choose another name with --feed`
          : `the feed ${name} belongs to another channel; choose another name with --feed`,
      )
  }
}

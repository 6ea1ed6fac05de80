import type { FeedMap } from './feed-map.ts'

/**
 * A map of a format. If a network delivers several layouts of XML, each but the last one says by the first characters of a file
 * whether it is its own.
 */
export type Preset = FeedMap & Readonly<{ layout?: string; matchesHead?: (head: string) => boolean }>

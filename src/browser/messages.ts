import type { Click } from './click-event.ts'

/** Version of the protocol; every message has it as `vitrine`. */
export const PROTOCOL_VERSION = 1

/** Messages from a frame to its host page, never in reverse; see docs/publish/frame-messages.md. */
export type FrameMessage =
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'ready'; title?: string }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'hidden' }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'height'; heightPx: number }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'click' } & Click>

/**
 * Messages to WordPress, which gave the frame the secret (wp-includes/js/wp-embed.js): the height, and the target of a
 * link, which must be on the host of the frame.
 */
export type WordPressMessage = Readonly<{
  message: 'height' | 'link'
  value: number | string
  secret: string
}>

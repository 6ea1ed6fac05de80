/** Version of the messages; every message carries it as `vitrine`. */
export const PROTOCOL_VERSION = 1

/** What a frame tells the page around it. It goes this way only; see docs/publish/frame-messages.md. */
export type FrameMessage =
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'ready' }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'hidden' }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'height'; heightPx: number }>

/**
 * What a frame tells WordPress, which gave it the secret (wp-includes/js/wp-embed.js): its height, and where a link
 * leads, which may only be this frame's own host.
 */
export type WordPressMessage = Readonly<{
  message: 'height' | 'link'
  value: number | string
  secret: string
}>

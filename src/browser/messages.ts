/** Every message carries this version as `vitrine`. */
export const PROTOCOL_VERSION = 1

/** Sent from a frame to its host page, never back; see docs/publish/frame-messages.md. */
export type FrameMessage =
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'ready' }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'hidden' }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'height'; heightPx: number }>

/**
 * Sent from a frame to WordPress, which gave it the secret (wp-includes/js/wp-embed.js): its height, or the address of a link,
 * which must be on the host of the frame.
 */
export type WordPressMessage = Readonly<{
  message: 'height' | 'link'
  value: number | string
  secret: string
}>

/** Version of the messages; every message carries it as `vitrine`. */
export const PROTOCOL_VERSION = 1

/** What a frame tells the page around it. It goes this way only; see docs/message-protocol.md. */
export type FrameMessage =
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'ready' }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'hidden' }>
  | Readonly<{ vitrine: typeof PROTOCOL_VERSION; type: 'height'; heightPx: number }>

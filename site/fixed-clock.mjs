/**
 * Loaded before the sample server: its clock starts at a fixed time and advances by whole minutes, so that builds show the same
 * times.
 */
const START_MS = Date.UTC(2026, 10, 21, 9)
const MINUTE_MS = 60_000
const now = Date.now.bind(Date)
const startedMs = now()

const toFixedMs = () => START_MS + Math.floor((now() - startedMs) / MINUTE_MS) * MINUTE_MS

globalThis.Date = class extends Date {
  constructor(...parameters) {
    super(...(parameters.length === 0 ? [toFixedMs()] : parameters))
  }

  static now() {
    return toFixedMs()
  }
}

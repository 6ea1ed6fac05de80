/** Loaded before the sample server: its clock starts at a fixed time, so that a build always shows the same dates. */
const START_MS = Date.UTC(2026, 10, 21, 9)
const offsetMs = START_MS - Date.now()
const now = Date.now.bind(Date)

globalThis.Date = class extends Date {
  constructor(...parameters) {
    super(...(parameters.length === 0 ? [now() + offsetMs] : parameters))
  }

  static now() {
    return now() + offsetMs
  }
}

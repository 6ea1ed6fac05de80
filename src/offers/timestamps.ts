const RFC_3339 =
  /^(?<date>\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Parse an RFC 3339 timestamp to Unix milliseconds; `null` for any other value, and for a leap second. */
export function parseTimestamp(value: unknown): number | null {
  if (typeof value !== 'string') return null
  const upperText = value.toUpperCase()
  const date = RFC_3339.exec(upperText)?.groups?.['date']
  if (date === undefined) return null
  // `Date.parse` accepts 30 February, and reads it as a day in March.
  const dayMs = Date.parse(`${date}T00:00:00Z`)
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(date)) return null
  return Date.parse(upperText)
}

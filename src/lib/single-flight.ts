/** Calls under way, shared by all who ask for the same thing meanwhile. */
export type Flights<T> = Readonly<{
  /** The call under way for `key`, else a new one. One deadline belongs to the call, none to a single visitor. */
  join(key: string, start: () => Promise<T>): Promise<T>
  has(key: string): boolean
}>

/** Makes a set of flights. JavaScript runs one thing at a time, so looking and starting cannot be torn apart. */
export function createFlights<T>(): Flights<T> {
  const flights = new Map<string, Promise<T>>()
  return {
    join(key, start) {
      const flying = flights.get(key)
      if (flying !== undefined) return flying
      const flight = start().finally(() => flights.delete(key))
      flights.set(key, flight)
      return flight
    },
    has: (key) => flights.has(key),
  }
}

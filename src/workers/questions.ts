import type { Clock } from '../clock.ts'

/** Questions to another process that may be busy, or gone. */
export type Questions = Readonly<{
  /** `undefined`: no answer in time. */
  ask(send: (id: number) => void): Promise<unknown>
  /** Takes an answer; one that comes too late is passed over. */
  take(id: number, value: unknown): void
}>

/** Numbers questions, and waits `withinMs` for each answer. */
export function createQuestions(clock: Clock, withinMs: number): Questions {
  const waiting = new Map<number, (value: unknown) => void>()
  let lastId = 0
  return {
    async ask(send) {
      const id = (lastId += 1)
      const done = new AbortController()
      const answer = new Promise<unknown>((resolve) => waiting.set(id, resolve))
      send(id)
      const value = await Promise.race([answer, clock.wait(withinMs, done.signal)])
      done.abort()
      waiting.delete(id)
      return value
    },
    take: (id, value) => waiting.get(id)?.(value),
  }
}

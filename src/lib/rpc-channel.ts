import type { Clock } from '../clock.ts'

/** Questions to another process or thread that may be busy, or gone. */
export type Questions = Readonly<{
  /** `undefined`: no answer in time, or nobody there any more. */
  ask(send: (id: number) => void): Promise<unknown>
  /** Takes an answer; one that comes too late is passed over. */
  take(id: number, value: unknown): void
}>

/** What questions are asked with: how long each may wait, and when nobody is there to answer. */
export type QuestionsOptions = Readonly<{ clock: Clock; withinMs: number; ended?: AbortSignal }>

/** Numbers questions, and waits for each answer until it is late or the other side has ended. */
export function createQuestions({ clock, withinMs, ended }: QuestionsOptions): Questions {
  const waiting = new Map<number, (value: unknown) => void>()
  let lastId = 0
  ended?.addEventListener('abort', () => waiting.forEach((resolve) => resolve(undefined)))
  return {
    async ask(send) {
      if (ended?.aborted) return undefined
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

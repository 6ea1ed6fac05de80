import type { Clock } from '../clock.ts'

/** `endSignal` aborts when the other side has ended. */
type RpcChannelOptions = Readonly<{ clock: Clock; timeoutMs: number; endSignal?: AbortSignal }>

export type RpcChannel = ReturnType<typeof createRpcChannel>

/** Create a channel for calls to a process or thread that may be busy or may have ended. */
export function createRpcChannel({ clock, timeoutMs, endSignal }: RpcChannelOptions) {
  const pending = new Map<number, (value: unknown) => void>()
  let lastId = 0
  endSignal?.addEventListener('abort', () => pending.forEach((resolve) => resolve(undefined)))
  return {
    /** Send a call and wait for its reply; `undefined` on timeout or when the other side has ended. */
    async call(send: (id: number) => void): Promise<unknown> {
      if (endSignal?.aborted) return undefined
      const id = (lastId += 1)
      const reply = new Promise<unknown>((resolve) => pending.set(id, resolve))
      const cancel = clock.startTimer(timeoutMs, () => pending.get(id)?.(undefined))
      try {
        send(id)
        return await reply
      } finally {
        cancel()
        pending.delete(id)
      }
    },
    /** Deliver the reply to a call. A late reply is ignored. */
    resolve: (id: number, value: unknown): void => pending.get(id)?.(value),
  }
}

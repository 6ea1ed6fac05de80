import { SECOND_MS, systemClock } from '../clock.ts'
import { StoreError, StoreNewerError } from '../errors.ts'
import { AWAY_WORDS, isAway, isTooLong } from './away.ts'
import { STORE_METHODS } from './healing-store.ts'
import type { CopyStore } from './store.ts'

/** How long after a failure, and after each further one, somebody looks whether the database is back. */
const LOOK_EVERY_MS: number = SECOND_MS

/** How long a look that is under way may take at the end. */
const CLOSE_WITHIN_MS: number = SECOND_MS

/** What a visitor waits for: a database that is too slow for it is as good as away. The rest is asked by few, and may be long. */
const VISITED: ReadonlySet<string> = new Set([
  'findProduct',
  'findChannelList',
  'getCopyState',
  'claimLookup',
  'updateQuota',
])

/** How the store is opened, and who is told. */
export type FleetStoreDetails = Readonly<{
  open(): Promise<CopyStore>
  /** Told once each time that the database is found to be away. */
  onFailure(error: unknown): void
  onHealed?(): void
}>

/**
 * A store on a server that may be away: then every method throws a `StoreError` at once, so that visitors do not wait for a
 * server that is not there, and somebody looks each second whether it is back. Connections heal by themselves.
 * @throws StoreNewerError when the database was made by a newer version: that is for the operator to decide.
 */
export async function openFleetStore(details: FleetStoreDetails): Promise<CopyStore> {
  const watch = createWatch(details)
  const methods = STORE_METHODS.map((name) => [
    name,
    async (...parameters: never[]): Promise<unknown> => {
      const store = watch.get()
      try {
        return await (store[name] as (...given: never[]) => Promise<unknown>)(...parameters)
      } catch (error) {
        if (isAway(error) || (VISITED.has(name) && isTooLong(error))) watch.leave(error)
        throw error
      }
    },
  ])
  await watch.open()
  return { ...(Object.fromEntries(methods) as Omit<CopyStore, 'close'>), close: watch.close }
}

type Watch = Readonly<{
  open(): Promise<void>
  /** @throws StoreError while the database is away. */
  get(): CopyStore
  /** It was found to be away: from now on somebody looks whether it is back. */
  leave(error: unknown): void
  close(): Promise<void>
}>

function createWatch(details: FleetStoreDetails): Watch {
  const stopping = new AbortController()
  let store: CopyStore | undefined
  let away: unknown
  let looking: Promise<void> | undefined
  const isBack = async (): Promise<boolean> => {
    try {
      store ??= await details.open()
      await store.ping()
      return true
    } catch (error) {
      away = error
      return false
    }
  }
  const lookUntilBack = async (): Promise<void> => {
    do await systemClock.wait(LOOK_EVERY_MS, stopping.signal)
    while (!stopping.signal.aborted && !(await isBack()))
    looking = undefined
    if (!stopping.signal.aborted) details.onHealed?.()
  }
  const leave = (error: unknown): void => {
    away = error
    if (looking !== undefined || stopping.signal.aborted) return
    details.onFailure(error)
    looking = lookUntilBack()
  }
  return {
    leave,
    get() {
      if (store === undefined || looking !== undefined) throw new StoreError(AWAY_WORDS, { cause: away })
      return store
    },
    async open() {
      try {
        store = await details.open()
      } catch (error) {
        if (error instanceof StoreNewerError) throw error
        leave(error)
      }
    },
    async close() {
      stopping.abort()
      // What is being asked of a server that says nothing is left alone.
      await Promise.race([looking, systemClock.wait(CLOSE_WITHIN_MS)])
      await store?.close()
    },
  }
}

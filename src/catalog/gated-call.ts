import { describeBug } from '../lib/bugs.ts'
import { CallNotMadeError, CatalogError, CatalogInvalidError, CatalogUnreachableError } from '../errors.ts'
import type { Answer, CatalogClientOptions, Operation } from './client.ts'
import type { CallPurpose } from './quota.ts'

/** What every answer has; `asOfMs`: when the catalog gave it. */
export type SentReply = Readonly<{ isNotFound: boolean; asOfMs: number }>

/** Reads what came. */
export type Parse<R, T> = (reply: R) => T | Promise<T>

type GatedCall<R, T> = Readonly<{ operation: Operation; purpose: CallPurpose; parse: Parse<R, T> }>

/**
 * Passes the gate, calls, and reads what came: an answer that cannot be used is a failure of the call, too.
 * @throws CatalogError, whatever failed
 */
export async function callThroughGate<R extends SentReply, T>(
  { gate, onCall }: Pick<CatalogClientOptions, 'gate' | 'onCall'>,
  send: () => Promise<R>,
  { operation, purpose, parse }: GatedCall<R, T>,
): Promise<Answer<T>> {
  try {
    const reply = await gate.pass(purpose, () => sendSafely(send))
    const value = await readSafely(() => parse(reply))
    onCall?.({ operation, outcome: reply.isNotFound ? 'not_found' : 'ok' })
    return { value, asOfMs: reply.asOfMs }
  } catch (error) {
    const failure = toCatalogError(error)
    if (!(failure instanceof CallNotMadeError))
      onCall?.({ operation, outcome: failure.code, reason: failure.message })
    throw failure
  }
}

/** The gate judges failures by their class. */
async function sendSafely<R>(send: () => Promise<R>): Promise<R> {
  try {
    return await send()
  } catch (error) {
    throw toCatalogError(error)
  }
}

/** The catalog has answered: whatever else goes wrong in reading says where, and nothing of its connection. */
async function readSafely<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof CatalogError) throw error
    throw new CatalogInvalidError(`the answer could not be read: ${describeBug(error as Error)}`, {
      cause: error,
    })
  }
}

function toCatalogError(error: unknown): CatalogError {
  return error instanceof CatalogError ? error : new CatalogUnreachableError(describe(error))
}

/** A failure by its code alone: undici's errors may carry pieces of what the catalog sent. */
function describe(error: unknown): string {
  const code = findCode(error)
  return code === undefined ? 'the connection failed' : `the connection failed: ${code}`
}

/** The code of an error of Node or undici, when it is a plain word. */
export function findCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[A-Z_0-9]{1,60}$/.test(code) ? code : undefined
}

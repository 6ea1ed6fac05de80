import { describeStoreFailure } from '../storage/reconnecting-store.ts'
import { CatalogStatusError, ConfigError, StoreError, VitrineError } from '../errors.ts'
import { findCallRemedy, findRemedy } from './cures.ts'

/** What `vitrine check` reports. */

/** One thing that was tried. `cure` says what to do when it is wrong, or may be unexpected. */
export type Finding = Readonly<{ subject: string; isGood: boolean; found: string; cure: string | null }>

/** What was found so far, and what to do about each failure, by code. */
export type Report = Readonly<{
  findings: Finding[]
  cures: Readonly<Record<string, string>>
  /** Is the catalog the embedded one? */
  isEmbedded: boolean
}>

/** Status of the embedded catalog while it has no data. */
const EMPTY_STATUS = 503

/** Run one part of the check: a failure becomes a finding with its remedy. */
export async function attempt<T>(
  { findings, cures, isEmbedded }: Report,
  subject: string,
  action: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof VitrineError) || error instanceof ConfigError) throw error
    const isEmpty = isEmbedded && error instanceof CatalogStatusError && error.upstreamStatus === EMPTY_STATUS
    const found = isEmpty ? 'it is empty' : `${describe(error)} (${error.code})`
    const remedy =
      findRemedy(error, subject) ?? findCallRemedy(error, { cures, isEmbedded }) ?? 'See docs/errors.md.'
    findings.push(bad(subject, found, remedy))
    return undefined
  }
}

/** Something that works; with a `cure` where it may be unexpected. */
export function good(subject: string, found: string, cure: string | null = null): Finding {
  return { subject, isGood: true, found, cure }
}

/** Something that is wrong, and what to do about it. */
export function bad(subject: string, found: string, cure: string): Finding {
  return { subject, isGood: false, found, cure }
}

/** A failure of the store, and what its database said; of the catalog's only our own words are told. */
function describe(error: VitrineError): string {
  if (!(error instanceof StoreError) || error.remedy !== null) return error.message
  const reason = describeStoreFailure(error)
  return error.message.endsWith(reason) ? error.message : `${error.message}: ${reason}`
}

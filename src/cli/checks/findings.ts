import type { Config } from '../../config/config.ts'
import { CatalogStatusError, ConfigError, StoreError, VitrineError } from '../../errors.ts'
import { describeStoreFailure } from '../../storage/reconnecting-store.ts'
import { findRemedy } from './remedies.ts'

/** One thing that `vitrine check` tried. `cure` says what to do when it is wrong, or may be unexpected. */
export type Finding = Readonly<{ subject: string; isGood: boolean; found: string; cure: string | null }>

/** What was found so far, with these settings. */
export type Report = Readonly<{ config: Config; findings: Finding[] }>

/** Status of the embedded catalog while it has no data. */
const EMPTY_STATUS = 503

/** Run one part of the check: a failure becomes a finding with its remedy, and the result is `undefined`. */
export async function attempt<T>(
  { config, findings }: Report,
  subject: string,
  action: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof VitrineError) || error instanceof ConfigError) throw error
    const isEmpty =
      config.catalog.kind === 'embedded' &&
      error instanceof CatalogStatusError &&
      error.upstreamStatus === EMPTY_STATUS
    const found = isEmpty ? 'it is empty' : `${describe(error)} (${error.code})`
    const setting = subject.startsWith('catalog') ? 'VITRINE_CATALOG_DATABASE_URL' : 'VITRINE_DATABASE_URL'
    findings.push(bad(subject, found, findRemedy(error, config, setting) ?? 'See docs/errors.md.'))
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

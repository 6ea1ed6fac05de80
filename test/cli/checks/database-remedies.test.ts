import { expect, it } from 'vitest'
import { findErrorRemedy } from '../../../src/cli/checks/report.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { toPostgresFailure } from '../../../src/database/failures.ts'
import { StoreError } from '../../../src/errors.ts'

const { config } = parseConfig({ VITRINE_DATABASE_URL: 'postgres://anna:pw@db.example/vitrine' })

it.each([
  ['CERT_HAS_EXPIRED', 'the certificate has expired', 'Renew the certificate'],
  ['CERT_NOT_YET_VALID', 'the certificate is not valid yet', 'correct the clock of this machine'],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'the certificate is for another name',
    'Use a name of the certificate in VITRINE_DATABASE_URL',
  ],
  ['INVALID_PURPOSE', 'the certificate is not valid', 'Replace the certificate of the server'],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'does not trust the authority of the certificate',
    'Check that the server of VITRINE_DATABASE_URL runs',
  ],
  // Advice for web servers does not fit a database server.
  ['ECONNRESET', 'the server cannot be reached', 'Check that the server of VITRINE_DATABASE_URL runs'],
  ['EPROTO', 'the server cannot be reached', 'Check that the server of VITRINE_DATABASE_URL runs'],
])('PostgreSQL fails with %s - reason and remedy of this failure', (code, reason, remedy) => {
  const cause = toPostgresFailure(Object.assign(new Error('detail'), { code }), 'db.example:5432/vitrine')
  expect(cause.message).toContain(`${reason} (${code})`)
  expect(findErrorRemedy(new StoreError('cannot open', { cause }), config)).toContain(remedy)
})

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { SECOND_MS } from '../../clock.ts'
import type { Environment } from '../../config/config.ts'
import { ConfigError } from '../../errors.ts'
import { createPing, createEventSender } from '../../events/send-event.ts'
import { PROXY_NOT_TRUSTED } from '../../http/admin-auth.ts'
import { SERVER_NAME, listenHttp } from '../../http/server.ts'
import { findDescribedRemedy } from '../../outgoing/connection-failures.ts'
import { findProxy, findUnusableEntries } from '../../outgoing/find-proxy.ts'
import { openPictureConverter } from '../../pictures/convert-picture.ts'
import { findPictureFolder, openPictureFiles } from '../../pictures/picture-files.ts'
import type { CommandContext } from '../../command.ts'
import { toLocalUrl } from '../open-catalog.ts'
import type { CheckReport } from './report.ts'

/** How long this machine, and the public address, may take to respond; a later response is ignored. */
const LOCAL_TIMEOUT_MS: number = SECOND_MS
const PUBLIC_TIMEOUT_MS: number = 2 * SECOND_MS

export const TRUST_ALL_WARNING =
  'VITRINE_TRUST_PROXY=true accepts any address that a visitor puts into X-Forwarded-For. The limit on wrong admin passwords therefore uses the address of the connection, which is the same for all visitors behind a proxy. Set the number of proxies or their addresses instead.'

const PROXY_REMEDY =
  'Set VITRINE_TRUST_PROXY to the number of proxies in front of the server, or to their addresses, and restart it.'

export async function checkListener({ config, clock }: CommandContext, report: CheckReport): Promise<void> {
  const { host, port } = config
  const address = `${host}:${port}`
  if (port !== 0 && (await isVitrineRunningAt(toLocalUrl(host, port))))
    return report.addOk('listener', `Vitrine is running on ${address}`)
  try {
    await report.attempt('listener', async () => {
      await (await listenHttp(host, port, clock)).stop()
      report.addOk('listener', `can listen on ${port === 0 ? `a free port of ${host}` : address}`)
    })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    report.addProblem('listener', error.problems.join('; '), 'Correct this setting.')
  }
}

/** Whether a widget server responds at this address. */
export function isVitrineRunningAt(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(LOCAL_TIMEOUT_MS)
    get(`${url}/healthz`, { signal, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 && response.headers.server === SERVER_NAME)
    }).on('error', () => resolve(false))
  })
}

/** Warn when the server trusts every proxy, or ignores the headers of one, which the 401 of its public `/metrics` reports. */
export async function checkProxy({ config, secrets }: CommandContext, report: CheckReport): Promise<void> {
  if (config.trustProxy === true) return report.addOk('proxy', TRUST_ALL_WARNING, PROXY_REMEDY)
  // Only the limit on wrong passwords uses the addresses of visitors.
  if (secrets.adminPassword === null || config.publicUrl === null) return
  const refusal = await fetchRefusal(`${config.publicUrl}/metrics`)
  if (refusal.includes(PROXY_NOT_TRUSTED)) report.addOk('proxy', PROXY_NOT_TRUSTED, PROXY_REMEDY)
}

/** Return the text of a 401 or 429, otherwise an empty text: the server need not run during a check. */
async function fetchRefusal(url: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(PUBLIC_TIMEOUT_MS)
    // oxlint-disable-next-line no-restricted-globals -- calls the running server, not the catalog
    const response = await fetch(url, { redirect: 'error', signal })
    return response.status === 401 || response.status === 429 ? (await response.text()).slice(0, 1_000) : ''
  } catch {
    return ''
  }
}

/** Say which calls go through a proxy, because its failures look like those of the target. It comes after the calls. */
export function checkProxies({ config, secrets }: CommandContext, report: CheckReport): void {
  const { proxies, webhook } = secrets
  const hosts = [proxies.http, proxies.https].flatMap((proxy) =>
    proxy ? [new URL(proxy.reveal()).host] : [],
  )
  if (hosts.length === 0) return
  const unusable = findUnusableEntries(proxies.noProxy)
  if (unusable.length > 0)
    report.addOk('NO_PROXY', `matches no host: ${unusable.join(' ')}`, 'Write names, addresses or networks.')
  const targets = [
    {
      name: 'the catalog',
      subject: 'catalog and key',
      url: config.catalog.kind === 'remote' && config.catalog.url,
    },
    { name: 'the webhook', subject: 'webhook', url: webhook !== null && webhook.url.reveal() },
  ].filter(({ url }) => url !== false && findProxy(proxies, new URL(url)) !== undefined)
  const names = targets.map(({ name }) => name).join(' and ')
  const hasFailed = targets.some(({ subject }) =>
    report.findings.some((finding) => finding.subject === subject && !finding.isGood),
  )
  report.addOk(
    'outgoing proxy',
    `${[...new Set(hosts)].join(', ')}; ${names === '' ? 'the catalog is called directly' : `used for ${names}`}`,
    hasFailed ? 'The failed call went through the proxy. If it must not, add the host to NO_PROXY.' : null,
  )
}

/** Node only warns about an unusable `NODE_EXTRA_CA_CERTS`, and does not read `.env` for it. */
export function checkCertificates(
  report: CheckReport,
  { own, withFile }: Readonly<{ own: Environment; withFile: Environment }>,
): void {
  const path = own['NODE_EXTRA_CA_CERTS'] ?? ''
  if (path === '') {
    if ((withFile['NODE_EXTRA_CA_CERTS'] ?? '') !== '')
      report.addOk(
        'certificates',
        'NODE_EXTRA_CA_CERTS is only in .env, where Node does not read it',
        'Set it in the environment of the service, and restart.',
      )
    return
  }
  const problem = findProblem(path)
  if (problem !== undefined)
    report.addProblem(
      'certificates',
      `Node ignores NODE_EXTRA_CA_CERTS: "${path}" ${problem}`,
      'Name a readable file with certificates in PEM, and restart.',
    )
}

function findProblem(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1').includes('-----BEGIN ') ? undefined : 'is not in PEM'
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`
  }
}

/** Send a signed `ping` to the webhook, if there is one. */
export async function checkWebhook({ secrets, clock }: CommandContext, report: CheckReport): Promise<void> {
  if (secrets.webhook === null) return
  const sender = createEventSender(secrets.webhook, secrets.proxies, clock)
  const failure = await sender.send(createPing(randomUUID(), clock.nowMs()))
  await sender.close()
  if (failure === null) report.addOk('webhook', 'accepts a signed ping')
  else
    report.addProblem(
      'webhook',
      `does not accept a signed ping: ${failure}`,
      findDescribedRemedy(failure, 'VITRINE_EVENTS_URL') ??
        'Check VITRINE_EVENTS_URL and VITRINE_EVENTS_SECRET, and that the receiver answers with a status from 200 to 299.',
    )
}

const SHARP_REMEDY = 'Install Vitrine again without --omit=optional, so that it gets the package sharp.'

/** Check the folder of pictures and the package that resizes them, with `VITRINE_PICTURES=proxy`. */
export async function checkPictures({ config, clock }: CommandContext, report: CheckReport): Promise<void> {
  if (config.pictures === 'direct') return
  const folder = findPictureFolder(config.database)
  try {
    await openPictureFiles({ folder, maxBytes: config.picturesMaxBytes, clock })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return report.addProblem(
      'pictures',
      `cannot write to the folder "${folder}"`,
      "Give the server's user write access to it.",
    )
  }
  const { convert } = await openPictureConverter(clock)
  if (convert === null)
    report.addOk('pictures', `served from "${folder}" in their original size`, SHARP_REMEDY)
  else report.addOk('pictures', `resized, and served from "${folder}"`)
}

import { readFileSync } from 'node:fs'
import type { Environment } from '../../config/config.ts'
import { findProxy, findUnusableEntries } from '../../outgoing/find-proxy.ts'
import type { CommandContext } from '../command.ts'
import type { CheckReport } from './report.ts'

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

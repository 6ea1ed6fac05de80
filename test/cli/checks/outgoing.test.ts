import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkCertificates } from '../../../src/cli/checks/network.ts'
import { CheckReport } from '../../../src/cli/checks/report.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { makeCertificate } from '../../helpers/certificate.ts'
import { startForwardProxy } from '../../helpers/forward-proxy.ts'
import { makeFolder, runInProcess, startRemoteCatalog } from '../run-cli.ts'

describe('check through a proxy', () => {
  it('catalog that responds - says so, without the password', async () => {
    const [proxy, { settings }] = [await startForwardProxy(), await startRemoteCatalog(makeFolder())]
    const url = settings['VITRINE_CATALOG_URL']?.replace('127.0.0.1', 'catalog.example')
    const http_proxy = `http://user:hidden-word@127.0.0.1:${proxy.port}`
    const no_proxy = '.corp.example,10.0.0.0/8,10.0.0.0/99,http://a.example/,[::1]:80'
    const over = { VITRINE_CATALOG_URL: url, http_proxy, no_proxy }
    const { code, out } = await runInProcess(['check'], { ...settings, ...over })
    expect([code, out]).toEqual([0, expect.stringContaining('good   catalog and key: the catalog responds')])
    expect(out).toContain(`good   outgoing proxy: 127.0.0.1:${proxy.port}; used for the catalog`)
    expect(out).toContain('note   NO_PROXY: matches no host: 10.0.0.0/99 http://a.example/')
    expect(out).not.toContain('hidden-word')
  })

  it.each([
    [407, 'the proxy demands a user and password (PROXY_STATUS_407)', 'Put them into HTTPS_PROXY'],
    [403, 'the proxy refused the connection (PROXY_STATUS_403)', 'Allow the host and its port in the proxy'],
    ['close', 'the connection was closed before the end (PROXY_', 'and that the proxy runs'],
  ] as const)('proxy that answers %s - reason, remedy and a hint', async (mode, reason, remedy) => {
    const [proxy, { settings }] = [await startForwardProxy(), await startRemoteCatalog(makeFolder())]
    proxy.mode = mode
    const remote = { VITRINE_CATALOG_URL: 'https://catalog.example', HTTPS_PROXY: proxy.url }
    const { code, out } = await runInProcess(['check'], { ...settings, ...remote })
    expect(code).toBe(1)
    for (const text of [reason, remedy, 'note   outgoing proxy', 'add the host to NO_PROXY'])
      expect(out).toContain(text)
  })

  it('malformed, SOCKS - exit code 78 with the name, without the value', async () => {
    const { code, err } = await runInProcess(['check'], { https_proxy: 'socks5://u:hidden-word@a.example' })
    expect([code, err]).toEqual([78, expect.stringContaining('https_proxy: SOCKS proxies are not supported')])
    expect(err).not.toContain('hidden-word')
  })
})

function findCertificates(path: string, isOnlyInFile = false) {
  const environment = { NODE_EXTRA_CA_CERTS: path }
  const report = new CheckReport(parseConfig({}).config)
  checkCertificates(report, { own: isOnlyInFile ? {} : environment, withFile: environment })
  return report.findings.map(({ isGood, message }) => [isGood, message])
}

describe('NODE_EXTRA_CA_CERTS', () => {
  it('usable, missing, no PEM, only in .env, not set - each fault has its finding', () => {
    const path = join(makeFolder(), 'ca.pem')
    writeFileSync(path, makeCertificate(['a.example']).cert)
    expect(findCertificates(path)).toEqual([])
    expect(findCertificates(path, true)).toEqual([[true, expect.stringContaining('only in .env') as string]])
    writeFileSync(path, 'text')
    expect(findCertificates(path)).toEqual([
      [false, `Node ignores NODE_EXTRA_CA_CERTS: "${path}" is not in PEM`],
    ])
    expect(findCertificates('/nowhere')).toEqual([
      [false, expect.stringContaining('cannot be read (ENOENT)') as string],
    ])
    expect(findCertificates('')).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { parseSerializedProxies, serializeProxies } from '../../src/config/proxies.ts'
import { redactSecrets } from '../../src/config/secrets.ts'
import { ConfigError } from '../../src/errors.ts'

const parse = (environment: Record<string, string>) =>
  serializeProxies(parseConfig(environment).secrets.proxies)

describe('variables of proxies', () => {
  it.each([
    [{ HTTP_PROXY: 'http://a.example:3128' }, { http: 'http://a.example:3128/' }],
    [{ https_proxy: 'http://a.example:3128/' }, { https: 'http://a.example:3128/' }],
    [{ http_proxy: 'http://low.example', HTTP_PROXY: 'http://up.example' }, { http: 'http://low.example/' }],
    [{ http_proxy: ' ', HTTP_PROXY: 'http://up.example' }, { http: 'http://up.example/' }],
    [{ HTTPS_PROXY: ' a.example:3128 ' }, { https: 'http://a.example:3128/' }],
    [{ HTTPS_PROXY: '10.0.0.1:3128' }, { https: 'http://10.0.0.1:3128/' }],
    [{ HTTPS_PROXY: 'user:word@a.example:3128' }, { https: 'http://user:word@a.example:3128/' }],
    [{ HTTPS_PROXY: 'HTTPS://a.example' }, { https: 'https://a.example/' }],
    [{ HTTPS_PROXY: 'http://[fd00::1]:3128' }, { https: 'http://[fd00::1]:3128/' }],
    [{ NO_PROXY: 'a.example', no_proxy: 'b.example' }, { noProxy: 'b.example' }],
    [{ ALL_PROXY: 'socks5://a.example', HTTP_PROXY: '' }, {}],
  ])('%j - %j', (environment, expected) => {
    expect(parse(environment)).toEqual({ http: null, https: null, noProxy: '', ...expected })
  })

  it.each([
    ['HTTP_PROXY', 'socks5://u:hidden-word@a.example:1080', 'SOCKS proxies are not supported'],
    ['https_proxy', 'SOCKS://a.example', 'SOCKS proxies are not supported'],
    ['HTTPS_PROXY', 'ftp://a.example', 'expected the address of an HTTP proxy'],
    ['HTTPS_PROXY', 'http://', 'expected the address of an HTTP proxy'],
    ['HTTPS_PROXY', 'http://a.example:99999', 'expected the address of an HTTP proxy'],
    ['HTTPS_PROXY', 'http://a.example/proxy.pac', 'expected the address of an HTTP proxy'],
    ['HTTPS_PROXY', 'http://u:hidden#word@a.example:3128', 'with user and password percent-encoded'],
    ['HTTPS_PROXY', 'http://u:hidden%word@a.example:3128', 'must be written as %25'],
    ['HTTPS_PROXY', '"http://a.example:3128"', 'the value is in quotes'],
    ['http_proxy', '""', 'the value is in quotes'],
    ['NO_PROXY', ' "a.example,10.0.0.0/8" ', 'the value is in quotes'],
    ['no_proxy', "'a.example'", 'the value is in quotes'],
  ])('%s=%s - is named without its value', (name, value, message) => {
    const fail = (): unknown => parseConfig({ [name]: value })
    expect(fail).toThrow(ConfigError)
    expect(fail).toThrow(`${name}: `)
    expect(fail).toThrow(message)
    expect(fail).not.toThrow(/hidden|a\.example/)
  })

  it('password - is [redacted] in logs, in each spelling', () => {
    const { secrets } = parseConfig({ HTTPS_PROXY: 'http://user:top%40hidden@a.example:3128' })
    expect(JSON.stringify(secrets.proxies)).not.toContain('hidden')
    expect(redactSecrets('a top%40hidden b top@hidden c')).toBe('a [redacted] b [redacted] c')
  })

  it('for another thread - is unchanged', () => {
    const { proxies } = parseConfig({ http_proxy: 'u:p%20w@a.example', NO_PROXY: '.b.example' }).secrets
    const copy = parseSerializedProxies(structuredClone(serializeProxies(proxies)))
    expect(serializeProxies(copy)).toEqual(serializeProxies(proxies))
  })
})

import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/config/secrets.ts'
import { findProxy } from '../../src/outgoing/find-proxy.ts'
import { useProxy } from '../helpers/proxies.ts'

const isProxied = (url: string, noProxy: string): boolean =>
  findProxy(useProxy('http://proxy.example:3128', noProxy), new URL(url)) !== undefined

describe('NO_PROXY', () => {
  it.each([
    ['shop.example', 'http://shop.example/'],
    ['SHOP.example', 'http://shop.EXAMPLE/'],
    ['example', 'http://shop.example/'],
    ['.shop.example', 'http://shop.example/'],
    ['.shop.example', 'http://feeds.shop.example/'],
    ['*.shop.example', 'http://feeds.shop.example/'],
    ['shop.example.', 'http://shop.example/'],
    ['shop.example', 'http://shop.example./'],
    ['münchen.example', 'http://xn--mnchen-3ya.example/'],
    ['*', 'https://shop.example/'],
    ['a.example,shop.example', 'http://shop.example/'],
    [' a.example ,, \tshop.example ', 'http://shop.example/'],
    ['a.example shop.example', 'http://shop.example/'],
    ['shop.example:8080', 'http://shop.example:8080/'],
    ['shop.example:80', 'http://shop.example/'],
    ['shop.example:443', 'https://shop.example/'],
    ['10.0.0.7', 'http://10.0.0.7/'],
    ['10.0.0.7:9000', 'http://10.0.0.7:9000/'],
    ['10.0.0.0/8', 'http://10.200.0.7/'],
    ['0.0.0.0/0', 'http://93.184.216.34/'],
    ['2001:4860:4860::8888', 'http://[2001:4860:4860::8888]/'],
    ['2001:4860:4860:0:0:0:0:8888', 'http://[2001:4860:4860::8888]/'],
    ['[2001:4860:4860::8888]', 'http://[2001:4860:4860::8888]/'],
    ['[2001:4860:4860::8888]:8080', 'http://[2001:4860:4860::8888]:8080/'],
    ['fd00::/8', 'http://[fd12::1]/'],
    ['[fd00::]/8', 'http://[fd12::1]/'],
    ['*shop.example', 'http://shop.example/'],
    ['*shop.example', 'http://feeds.shop.example/'],
    ['shop.example', 'http://shop.example../'],
  ])('%j - %s is direct', (noProxy, url) => {
    expect(isProxied(url, noProxy)).toBe(false)
  })

  it.each([
    ['', 'http://shop.example/'],
    ['shop.example', 'http://myshop.example/'],
    ['shop.example', 'http://shop.example.org/'],
    ['feeds.shop.example', 'http://shop.example/'],
    ['shop.example:8080', 'http://shop.example/'],
    ['shop.example:80', 'https://shop.example/'],
    ['*:8080', 'http://shop.example/'],
    ['10.0.0.0/8', 'http://11.0.0.7/'],
    ['10.0.0.0/8', 'http://shop.example/'],
    ['10.0.0.0/33', 'http://10.0.0.7/'],
    ['10.0.0.0/', 'http://10.0.0.7/'],
    ['10.0.0.0/x', 'http://10.0.0.7/'],
    ['fd00::/8', 'http://[2001:4860:4860::8888]/'],
    ['[2001:4860:4860::8888]:8080', 'http://[2001:4860:4860::8888]/'],
    ['*shop.example', 'http://myshop.example/'],
    ['[fd00::]/129', 'http://[fd12::1]/'],
    ['.', 'http://shop.example/'],
  ])('%j - %s uses the proxy', (noProxy, url) => {
    expect(isProxied(url, noProxy)).toBe(true)
  })
})

it.each([
  'http://localhost/',
  'http://a.localhost:1/',
  'https://127.0.0.1/',
  'http://127.9.9.9/',
  'http://[::1]/',
  'http://0.0.0.0/',
  'http://[::]/',
])('this machine, %s - is direct', (url) => {
  expect(isProxied(url, '')).toBe(false)
})

it('each scheme - has its own proxy, and none from the other', () => {
  const https = new Secret('http://proxy.example:3128')
  const proxies = { http: null, https, noProxy: '' }
  expect(findProxy(proxies, new URL('http://shop.example/'))).toBeUndefined()
  expect(findProxy(proxies, new URL('https://shop.example/'))?.port).toBe('3128')
})

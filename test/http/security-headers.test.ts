import express, { type RequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import {
  type FrameRules,
  createOwnPageHeaders,
  createCrossOriginHeaders,
  listFrameAncestors,
  toEmbedPolicy,
  toEmbedderPolicy,
  toFragmentPolicy,
} from '../../src/http/security-headers.ts'

const OWN = 'https://widgets.example'

function list(over: Partial<FrameRules> = {}): readonly string[] {
  return listFrameAncestors({
    ownOrigin: OWN,
    channelUrl: null,
    configuredAncestors: [],
    isLocalDemo: false,
    ...over,
  })
}

/** Return response headers by name; `null`: absent. */
async function getHeaders(handler: RequestHandler, names: readonly string[]): Promise<unknown> {
  const app = express().disable('x-powered-by').use(handler)
  app.get('/', (_request, response) => void response.send('x'))
  const { headers } = await request(app).get('/')
  return Object.fromEntries(names.map((name) => [name, headers[name] ?? null]))
}

describe('frame ancestors', () => {
  it('no setting - only this server', () => {
    expect(list()).toEqual(["'self'", OWN])
  })

  it('channel - its origin without path or query, and the origins of settings and local demo', () => {
    expect(list({ channelUrl: 'https://Magazine.example:8443/news?x=1' })).toEqual([
      "'self'",
      OWN,
      'https://magazine.example:8443',
    ])
    expect(list({ configuredAncestors: ['https://*.example.org', OWN] })).toEqual([
      "'self'",
      OWN,
      'https://*.example.org',
    ])
    expect(list({ isLocalDemo: true })).toEqual([
      "'self'",
      OWN,
      'http://localhost:*',
      'http://127.0.0.1:*',
      'file:',
    ])
  })

  it.each([
    ['absent', null],
    ['empty', ''],
    ['not an address', 'magazine.example'],
    ['script', 'javascript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['app', 'myapp://home'],
    ['file', 'file:///x'],
    ['a directive behind a semicolon', 'https://a.example;script-src'],
    ['a directive in the name', 'https://a;sandbox/'],
    ['a second policy behind a comma', 'https://a.example,sandbox/'],
    ['a keyword in quotes', "https://'unsafe-inline'/"],
    ['a wildcard', 'https://*/'],
    ['a wildcard of all', 'https://*.example/'],
  ])('channel address: %s - adds nothing', (_name, channelUrl) => {
    expect(list({ channelUrl })).toEqual(["'self'", OWN])
  })

  it.each([
    ['https://münchen.example/', 'https://xn--mnchen-3ya.example'],
    ['http://192.0.2.7:8080/', 'http://192.0.2.7:8080'],
    ['http://[2001:db8::1]/', 'http://[2001:db8::1]'],
    ['https://my_shop.example', 'https://my_shop.example'],
  ])('channel address %s - %s', (channelUrl, expected) => {
    expect(list({ channelUrl }).at(-1)).toBe(expected)
  })
})

const DIRECT = { ownOrigin: OWN, pictures: 'direct' } as const
const PROXY = { ownOrigin: OWN, pictures: 'proxy' } as const

describe('policies', () => {
  it('embed - styles and scripts of this server, and all pictures over https', () => {
    expect(toEmbedPolicy(DIRECT, ["'self'", 'https://a.example']).split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'self' ${OWN}`,
      `script-src 'self' ${OWN}`,
      `img-src 'self' ${OWN} https:`,
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
      "frame-ancestors 'self' https://a.example",
    ])
  })

  it('fragment opened as a page - no script, no frame', () => {
    const policy = toFragmentPolicy(DIRECT)
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('script-src')
  })

  it('pictures from this server - every page loads pictures only from it', async () => {
    const policies = [toEmbedPolicy(PROXY, ["'self'"]), toFragmentPolicy(PROXY)]
    for (const policy of policies) expect(policy.split('; ')).toContain(`img-src 'self' ${OWN}`)
    expect(await getHeaders(createOwnPageHeaders(PROXY), ['content-security-policy'])).toEqual({
      'content-security-policy': expect.stringContaining(`;img-src 'self' ${OWN};`),
    })
  })

  it('embed - demands CORP of pictures only if they are from this server', () => {
    expect([DIRECT, PROXY].map(toEmbedderPolicy)).toEqual(['credentialless', 'require-corp'])
  })

  it('responses for other sites - CORP cross-origin, framing left to the policy', async () => {
    const expected = {
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'strict-origin-when-cross-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': null,
      'content-security-policy': null,
      'cross-origin-opener-policy': null,
      'strict-transport-security': null,
    }
    expect(await getHeaders(createCrossOriginHeaders(), Object.keys(expected))).toEqual(expected)
  })

  it('pages of this server - cannot be framed', async () => {
    const expected = {
      'content-security-policy': `default-src 'none';style-src 'self' ${OWN};script-src 'self' ${OWN};img-src 'self' ${OWN} https:;frame-src 'self' ${OWN};connect-src 'self' ${OWN};base-uri 'none';form-action 'self';require-trusted-types-for 'script';trusted-types 'none';frame-ancestors 'none'`,
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'strict-transport-security': null,
    }
    expect(await getHeaders(createOwnPageHeaders(DIRECT), Object.keys(expected))).toEqual(expected)
  })
})

import { describe, expect, it } from 'vitest'
import {
  describeFeedAddress,
  parseFeedAddress,
  resolveFeedAddress,
} from '../../../src/catalog-service/feeds/feed-address.ts'
import { Secret, redactSecrets } from '../../../src/config/secrets.ts'

const SECRETS = new Map(
  Object.entries({
    KEY: 'key-of-a-feed/ä?',
    WHOLE: 'https://a.example/secret-path?b',
    TEXT: 'no address',
  }).map(([name, value]) => [name, new Secret(value)] as const),
)

describe('address of a feed', () => {
  it.each([
    ['https://a.example', 'https://a.example/', 'https://a.example'],
    ['http://a.example:81/b?c=d', 'http://a.example:81/b?c=d', 'http://a.example:81/…'],
    ['https://user:pass@a.example/b', 'https://user:pass@a.example/b', 'https://a.example/…'],
    [
      'https://a.example/${KEY}/x?k=${KEY}',
      'https://a.example/key-of-a-feed%2F%C3%A4%3F/x?k=key-of-a-feed%2F%C3%A4%3F',
      'https://a.example/…',
    ],
    ['${WHOLE}', 'https://a.example/secret-path?b', 'https://a.example/…'],
    ['file:///data/a%20b.csv', 'file:///data/a%20b.csv', '/data/a%20b.csv'],
  ])('%s - valid, and described without its secrets', (text, href, label) => {
    expect(parseFeedAddress(text)).toBe(text)
    const address = resolveFeedAddress(text, SECRETS)
    expect(address).toMatchObject({ label })
    expect(address.url.href).toBe(href)
    expect(describeFeedAddress(text)).toBe(text === '${WHOLE}' ? text : label)
  })

  it.each([
    '',
    'feed.csv',
    '/data/feed.csv',
    'ftp://a.example/',
    'https://',
    'https://user@a.example/',
    'https://:pass@a.example/',
    'https://${KEY}.example/',
    'https://user:${KEY}@a.example/',
    'file://host/feed.csv',
    'file:///data/100%.csv',
    'file:///data/a%2Fb.csv',
    'https://a.example/${key}',
    'https://a.example/${}',
    '${WHOLE}/x',
  ])('%s - UsageError', (text) => {
    expect(() => parseFeedAddress(text)).toThrow(expect.objectContaining({ code: 'VITRINE_USAGE' }) as Error)
  })

  it.each([
    ['https://a.example/${MISSING}', 'needs the setting VITRINE_FEED_MISSING, which is not set'],
    ['${TEXT}', 'is not valid once its secrets are filled in'],
    ['file:///data/${KEY}', 'is not valid once its secrets are filled in'],
  ])('%s - FeedFetchError without the secret', (text, message) => {
    expect(() => resolveFeedAddress(text, SECRETS)).toThrow(message)
  })

  it('path of a file - stays readable in the log', () => {
    resolveFeedAddress('file:///data/readable-path.csv', SECRETS)
    expect(redactSecrets('cannot read /data/readable-path.csv')).toBe('cannot read /data/readable-path.csv')
  })

  it.each([
    ['file:///data/100%.csv', '/data/100%.csv'],
    ['no address', '…'],
  ])('%s, stored by hand - described', (text, label) => {
    expect(describeFeedAddress(text)).toBe(label)
  })
})

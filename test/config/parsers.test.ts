import { availableParallelism } from 'node:os'
import express from 'express'
import { describe, expect, it } from 'vitest'
import {
  anyText,
  cronPattern,
  currencyCode,
  disclosureLine,
  httpAddress,
  localeTag,
  oneOf,
  originList,
  proxyTrust,
  secretText,
  uuidList,
  wholeNumber,
  workerCount,
} from '../../src/config/parsers.ts'
import { databaseAddressParser } from '../../src/config/database-address.ts'

const ID = '3f2b8c1e-6a54-4d0b-9c7e-1b2a3c4d5e6f'

describe('number of workers', () => {
  it.each([
    ['1', 1],
    ['64', 64],
    ['auto', Math.min(64, availableParallelism())],
  ])('%s - %i', (text, expected) => {
    expect(workerCount(64).parse(text)).toBe(expected)
  })

  it('auto - more cores than the maximum - is the maximum', () => {
    expect(workerCount(1).parse('auto')).toBe(1)
  })

  it.each(['0', '65', '-1', '1.5', 'AUTO', ' auto', 'all'])('%j - invalid', (text) => {
    expect(workerCount(64).parse(text)).toBeUndefined()
  })
})

describe('whole number', () => {
  const reader = wholeNumber(1, 300)
  it.each([
    ['1', 1],
    ['300', 300],
    ['007', 7],
  ])('%s - %i', (text, expected) => {
    expect(reader.parse(text)).toBe(expected)
  })

  it.each(['0', '301', '-1', '+1', '1.5', '1e2', '0x10', ' 1', '1 ', 'one', '1_0', '9'.repeat(16), '١'])(
    '%j - invalid',
    (text) => {
      expect(reader.parse(text)).toBeUndefined()
    },
  )
})

describe('options and texts', () => {
  it('one of - valid, other case, invalid', () => {
    const reader = oneOf(['info', 'warn'])
    expect(reader.parse('warn')).toBe('warn')
    expect(reader.parse('WARN')).toBeUndefined()
    expect(reader.parse('toString')).toBeUndefined()
  })

  it('any text - unchanged', () => {
    expect(anyText.parse(' x ')).toBe(' x ')
  })

  it.each(['k', 'a'.repeat(1_024), '!"~'])('secret %s - valid', (text) => {
    expect(secretText.parse(text)?.reveal()).toBe(text)
  })

  it.each(['a b', 'a\n', 'ü', 'a\u0000', 'a'.repeat(1_025), ' '])('secret %j - invalid', (text) => {
    expect(secretText.parse(text)).toBeUndefined()
  })
})

describe('http address', () => {
  it.each([
    ['https://catalog.example', 'https://catalog.example'],
    ['https://catalog.example/', 'https://catalog.example'],
    ['HTTPS://Catalog.Example:443/Api//', 'https://catalog.example/Api'],
    ['http://127.0.0.1:8080/a/b/', 'http://127.0.0.1:8080/a/b'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
  ])('%s - %s', (text, expected) => {
    expect(httpAddress.parse(text)).toBe(expected)
  })

  it.each([
    'catalog.example',
    '//catalog.example',
    'ftp://catalog.example',
    'https://',
    'https://user:pass@catalog.example',
    'https://catalog.example/?key=1',
    'https://catalog.example/#x',
    'https://catalog.example\\x',
    'https://a b.example',
    'https://catalog.example:99999',
    'javascript:alert(1)',
  ])('%s - invalid', (text) => {
    expect(httpAddress.parse(text)).toBeUndefined()
  })
})

describe('database address', () => {
  it.each([
    ['sqlite:data/vitrine.db', 'data/vitrine.db'],
    ['sqlite:/var/lib/v.db', '/var/lib/v.db'],
    ['sqlite:///var/lib/v.db', '/var/lib/v.db'],
  ])('%s - %s', (text, path) => {
    expect(databaseAddressParser.parse(text)).toEqual({ kind: 'sqlite', path })
  })

  it.each(['sqlite:', 'sqlite::memory:', 'data/vitrine.db', 'mysql://x', 'SQLITE:x'])(
    '%s - invalid',
    (text) => {
      expect(databaseAddressParser.parse(text)).toBeUndefined()
    },
  )
})

describe('uuid list', () => {
  it('one and several - become lower case without spaces', () => {
    expect(uuidList.parse(ID)).toEqual([ID])
    expect(uuidList.parse(` ${ID.toUpperCase()} , ${ID}`)).toEqual([ID, ID])
  })

  it.each(['x', `${ID},`, `${ID};${ID}`, ID.replaceAll('-', ''), `{${ID}}`, ','])('%s - invalid', (text) => {
    expect(uuidList.parse(text)).toBeUndefined()
  })
})

describe('origin list', () => {
  it.each([
    ['https://www.example.com', ['https://www.example.com']],
    ['https://A.example/, http://b.example:8080', ['https://a.example', 'http://b.example:8080']],
    ['https://*.example.com:*', ['https://*.example.com:*']],
    ['*', ['*', 'file:']],
    ['https://a.example *', ['*', 'file:']],
  ])('%s - %j', (text, expected) => {
    expect(originList.parse(text)).toEqual(expected)
  })

  it.each([
    'www.example.com',
    'https://a.example/path',
    "'self'",
    'https://a.example;script-src',
    'https://a.example https:',
    'javascript:',
    'https://user@a.example',
    'file:',
    'https://a.*.example',
  ])('%s - invalid', (text) => {
    expect(originList.parse(text)).toBeUndefined()
  })
})

describe('cron pattern', () => {
  it.each(['7 * * * *', '*/5 0-6 * * 1-5', '@hourly'])('%s - itself', (text) => {
    expect(cronPattern.parse(text)?.pattern).toBe(text)
  })

  it('off - null', () => {
    expect(cronPattern.parse('off')).toBeNull()
  })

  it.each(['OFF', 'hourly', '99 * * * *', '* * *', '0 0 31 2 *', '2001-01-01T00:00:00'])(
    '%s - invalid',
    (text) => {
      expect(cronPattern.parse(text)).toBeUndefined()
    },
  )
})

describe('language and currency', () => {
  it.each([
    ['en', 'en'],
    ['DE-at', 'de-AT'],
    ['zh-hant-tw', 'zh-Hant-TW'],
  ])('language %s - %s', (text, expected) => {
    expect(localeTag.parse(text)).toBe(expected)
  })

  it.each(['en_US', 'english!', '-', 'e'])('language %s - invalid', (text) => {
    expect(localeTag.parse(text)).toBeUndefined()
  })

  it('currency - any case is valid; unknown codes, signs and names are invalid', () => {
    expect(currencyCode.parse('eur')).toBe('EUR')
    for (const text of ['EURO', '€', 'QQQ', 'E']) expect(currencyCode.parse(text)).toBeUndefined()
  })
})

describe('disclosure', () => {
  it('text, off, too long, blank', () => {
    expect(disclosureLine.parse('Ad.')).toEqual({ kind: 'text', text: 'Ad.' })
    expect(disclosureLine.parse('off')).toEqual({ kind: 'off' })
    expect(disclosureLine.parse('x'.repeat(301))).toBeUndefined()
    expect(disclosureLine.parse('  \n')).toBeUndefined()
  })
})

/** Express parses the value when it is set. */
const setInExpress = (value: unknown): void => void express().set('trust proxy', value)

describe('trusted proxies', () => {
  it.each([
    ['true', true],
    ['false', false],
    ['0', 0],
    ['2', 2],
    ['loopback', 'loopback'],
    ['loopback, 10.0.0.0/8,fd00::/8, 192.0.2.7', 'loopback, 10.0.0.0/8,fd00::/8, 192.0.2.7'],
  ])('%s - %j', (text, expected) => {
    expect(proxyTrust.parse(text)).toBe(expected)
    expect(() => setInExpress(expected)).not.toThrow()
  })

  it.each([
    'yes',
    'TRUE',
    '100',
    '-1',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::1/129',
    '10.0.0',
    '10.0.0.1,',
    'loopback;x',
    '10.0.0.0/',
    '/8',
  ])('%s - invalid: Express would throw at start', (text) => {
    expect(proxyTrust.parse(text)).toBeUndefined()
  })
})

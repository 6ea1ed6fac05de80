import type { IncomingMessage } from 'node:http'
import express from 'express'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { findClientAddress, toLimiterKey } from '../../src/http/client-address.ts'

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:50123', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
  ['', undefined],
  ['unknown', undefined],
  ['192.0.2.256', undefined],
  ['1.2.3', undefined],
  ['_hidden', undefined],
])('%s - has the limiter key %s', (address, key) => {
  expect(toLimiterKey(address)).toBe(key)
})

const anyAddress = fc.oneof(
  fc.constantFrom('127.0.0.1', '::1', '10.0.0.1', '10.0.0.2', '192.0.2.7', '203.0.113.9', '2001:db8::5'),
  fc.constantFrom('::ffff:10.0.0.1', 'unknown', '', '198.51.100.4:8080'),
)
const anyTrust = fc.constantFrom<boolean | number | string>(
  false,
  0,
  1,
  2,
  'loopback',
  '10.0.0.0/8',
  'loopback, 10.0.0.1',
  '127.0.0.1,10.0.0.0/8',
)

test('any proxies - the address is that of Express', () => {
  fc.assert(
    fc.property(anyTrust, anyAddress, fc.array(anyAddress), (trustProxy, remoteAddress, forwarded) => {
      const app = express().set('trust proxy', trustProxy)
      const headers = forwarded.length === 0 ? {} : { 'x-forwarded-for': forwarded.join(', ') }
      const request = { headers, socket: { remoteAddress } } as unknown as IncomingMessage
      const { ip } = Object.assign(Object.create(app.request) as typeof app.request, request)
      const expected = toLimiterKey(ip ?? '') ?? toLimiterKey(remoteAddress) ?? ''
      expect(findClientAddress(request, trustProxy)).toBe(expected)
    }),
  )
})

test('every proxy is trusted - reported addresses are ignored, because any client can send them', () => {
  const request = { headers: { 'x-forwarded-for': '192.0.2.7' }, socket: { remoteAddress: '10.0.0.1' } }
  expect(findClientAddress(request as unknown as IncomingMessage, true)).toBe('10.0.0.1')
})

import { expect, test } from 'vitest'
import { toLimiterKey } from '../../src/http/client-address.ts'

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

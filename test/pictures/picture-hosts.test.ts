import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import { createPictureHosts, toSite } from '../../src/pictures/picture-hosts.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

const HOST = 'img1.shop.example'
const NEIGHBOUR = 'img2.shop.example'

const PROVEN = ['host img1.shop.example']
const UNPROVEN = ['site shop.example', 'unproven']

function start() {
  const clock = createFakeClock(0)
  const hosts = createPictureHosts(clock)
  return { clock, hosts, listGroups: (host: string) => hosts.getGroups(host).map(({ name }) => name) }
}

describe('hosts of pictures', () => {
  test('host that has not responded yet - shares places with its site and with all unproven hosts', () => {
    const { hosts, listGroups } = start()
    expect(listGroups(HOST)).toEqual(UNPROVEN)
    hosts.record(HOST, undefined)
    expect([listGroups(HOST), listGroups(NEIGHBOUR)]).toEqual([PROVEN, UNPROVEN])
  })

  test('404 or a damaged picture - is a response', () => {
    const { hosts, listGroups } = start()
    hosts.record(HOST, 'status')
    expect(listGroups(HOST)).toEqual(PROVEN)
  })

  test('host that responded and then hangs - is unproven, and the rest of its site for a minute', () => {
    const { hosts, clock, listGroups } = start()
    for (const host of [HOST, NEIGHBOUR]) hosts.record(host, undefined)
    hosts.record(NEIGHBOUR, 'timeout')
    expect([listGroups(HOST), listGroups(NEIGHBOUR)]).toEqual([UNPROVEN, UNPROVEN])
    clock.advance(MINUTE_MS)
    expect([listGroups(HOST), listGroups(NEIGHBOUR)]).toEqual([PROVEN, UNPROVEN])
  })

  test('many failures of other hosts of a site - a host is not refused', () => {
    const { hosts } = start()
    for (let index = 0; index < 9; index += 1) hosts.record(NEIGHBOUR, 'unreachable')
    expect(() => hosts.check(NEIGHBOUR)).toThrow('busy')
    expect(() => hosts.check(HOST)).not.toThrow()
  })

  test.each([
    ['a.b.shop.com', 'shop.com'],
    ['shop.com', 'shop.com'],
    ['x1.shop.com.', 'shop.com'],
    ['img.shop.co.uk', 'shop.co.uk'],
    ['shop.com.au', 'shop.com.au'],
    ['img.abc.de', 'abc.de'],
    ['d1.cloudfront.net', 'cloudfront.net'],
    ['93.184.216.34', 'addresses'],
    ['[2606:4700::1]', 'addresses'],
    ['', ''],
  ])('%s - belongs to the site %s', (host, site) => {
    expect(toSite(host)).toBe(site)
  })
})

import { describe, expect, it } from 'vitest'
import { type Environment, parseConfig } from '../../src/config/config.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { SETTINGS } from '../../src/config/settings.ts'
import { ConfigError } from '../../src/errors.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

const REMOTE = { VITRINE_CATALOG_URL: 'https://catalog.example', VITRINE_CATALOG_KEY: 'k-secret-1' }
const ID = '3f2b8c1e-6a54-4d0b-9c7e-1b2a3c4d5e6f'

function findProblems(environment: Environment): readonly string[] {
  try {
    parseConfig(environment)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

const findNames = (environment: Environment): string[] =>
  findProblems(environment).map((problem) => problem.split(':')[0] ?? '')

describe('settings: defaults', () => {
  it('no setting - has the documented defaults', () => {
    const { config, secrets } = parseConfig({})
    expect(config).toEqual({
      catalog: { kind: 'embedded' },
      catalogDatabase: { kind: 'sqlite', path: 'data/catalog.db' },
      catalogTimeoutMs: 5_000,
      catalogDailyLimit: null,
      catalogMaxBytes: 8_388_608,
      host: '127.0.0.1',
      port: 3_000,
      publicUrl: null,
      database: { kind: 'sqlite', path: 'data/vitrine.db' },
      channels: null,
      frameAncestors: [],
      freshness: {
        freshSeconds: 300,
        staleSeconds: 3_600,
        rescueSeconds: 604_800,
        notFoundSeconds: 300,
        visitorTimeoutMs: 800,
        unknownLookupsPerHour: 600,
      },
      priceMaxAgeSeconds: 86_400,
      history: { keptDays: 400, priceMaxAgeSeconds: 86_400 },
      cacheMaxBytes: 67_108_864,
      cacheMaxEntries: 20_000,
      cacheTagHeader: null,
      syncCron: '7 * * * *',
      findWalkPeriodMs: expect.any(Function),
      workers: 1,
      locale: 'en',
      currency: null,
      disclosure: { kind: 'locale' },
      timeZone: 'UTC',
      shopsFile: null,
      subIdsFile: null,
      trustProxy: false,
      logLevel: 'info',
      isJsonOpen: false,
      mailNetworks: null,
      links: 'direct',
      pictures: 'direct',
      picturesMaxBytes: 1_073_741_824,
    })
    expect(secrets).toEqual({
      catalogKey: null,
      catalogKeyFile: null,
      adminPassword: null,
      feedSecrets: new Map(),
      webhook: null,
      proxies: NO_PROXIES,
    })
  })

  it('config - is frozen', () => {
    const { config, secrets } = parseConfig(REMOTE)
    for (const part of [config, config.freshness, secrets]) expect(Object.isFrozen(part)).toBe(true)
  })
})

/** A valid text with its value for each setting, and invalid texts. */
const SETTING_CASES: Readonly<
  Record<keyof typeof SETTINGS, readonly [good: string, bad: readonly string[]]>
> = {
  VITRINE_CATALOG_URL: ['https://catalog.example/x', ['catalog.example', 'ftp://x']],
  VITRINE_CATALOG_KEY: ['k1', ['k 1', 'kö']],
  VITRINE_CATALOG_KEY_FILE: ['/run/key', []],
  VITRINE_HOST: ['0.0.0.0', []],
  VITRINE_PORT: ['0', ['65536', '80a', '-1']],
  VITRINE_PUBLIC_URL: ['https://w.example/path', ['/path']],
  VITRINE_DATABASE_URL: ['sqlite:x.db', ['x.db']],
  VITRINE_CATALOG_DATABASE_URL: ['sqlite:x.db', ['x.db']],
  VITRINE_CHANNELS: [ID, ['x']],
  VITRINE_FRAME_ANCESTORS: ['https://a.example', ['a.example']],
  VITRINE_CATALOG_DAILY_LIMIT: ['5000', ['0', '-1', '1e3', '5,000']],
  VITRINE_FRESH_SECONDS: ['299', ['0', '301']],
  VITRINE_STALE_SECONDS: ['1', ['0', '-1', '999999999']],
  VITRINE_RESCUE_SECONDS: ['1', ['0', '1h']],
  VITRINE_VISITOR_TIMEOUT_MS: ['10000', ['0', '10001']],
  VITRINE_NOT_FOUND_SECONDS: ['1', ['0']],
  VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: ['0', ['-1', '1000001']],
  VITRINE_PRICE_MAX_AGE_SECONDS: ['1', ['0']],
  VITRINE_HISTORY_DAYS: ['0', ['-1', '3651']],
  VITRINE_CACHE_MAX_BYTES: ['1', ['0', '64MB']],
  VITRINE_CACHE_MAX_ENTRIES: ['1', ['0']],
  VITRINE_CACHE_TAG_HEADER: ['surrogate-KEY', ['Surrogate-Keys', 'X-Tags', 'xkey,xkey', 'x\nkey']],
  VITRINE_SYNC_CRON: ['off', ['hourly', '0 0 30 2 *']],
  VITRINE_CATALOG_TIMEOUT_MS: ['600000', ['0', '600001']],
  VITRINE_CATALOG_MAX_BYTES: ['1099511627776', ['0', '1099511627777']],
  VITRINE_WORKERS: ['64', ['0', '65', '-1', '2.5', 'two', 'AUTO', 'auto2']],
  VITRINE_LOCALE: ['de-AT', ['de_AT']],
  VITRINE_CURRENCY: ['usd', ['DOLLAR']],
  VITRINE_DISCLOSURE: ['off', [' ']],
  VITRINE_ADMIN_PASSWORD: ['p4ss', ['p ss']],
  VITRINE_TRUST_PROXY: ['loopback', ['maybe']],
  VITRINE_TIME_ZONE: ['Europe/Berlin', ['Berlin', '+01:00', 'CEST1']],
  VITRINE_SHOPS_FILE: ['shops.json', []],
  VITRINE_SUB_IDS_FILE: ['sub-ids.json', []],
  VITRINE_PICTURES: ['proxy', ['on', 'Proxy']],
  VITRINE_PICTURES_MAX_BYTES: ['16777216', ['16777215', '1GB']],
  VITRINE_LINKS: ['counted', ['on', 'Counted']],
  VITRINE_EVENTS_URL: [
    'https://h.example/x?key=1',
    ['h.example', 'ftp://h.example', 'https://u:p@h.example'],
  ],
  VITRINE_EVENTS_SECRET: ['0123456789abcdef', ['0123456789abcde', '0123456789 abcdef']],
  VITRINE_JSON: ['on', ['yes', 'true']],
  VITRINE_MAIL_NETWORKS: ['awin, Partner Net', [',', 'awin,']],
  VITRINE_LOG_LEVEL: ['silent', ['INFO', 'loud']],
}

const COMBINATIONS: Environment = {
  VITRINE_CATALOG_URL: 'https://catalog.example',
  VITRINE_CATALOG_KEY_FILE: '/run/key',
}

function withRequiredSettings(name: string): Environment {
  if (name === 'VITRINE_EVENTS_URL') return { VITRINE_EVENTS_SECRET: '0123456789abcdef' }
  if (name === 'VITRINE_EVENTS_SECRET') return { VITRINE_EVENTS_URL: 'https://h.example' }
  if (name === 'VITRINE_CATALOG_KEY') return { VITRINE_CATALOG_URL: 'https://catalog.example' }
  return name.startsWith('VITRINE_CATALOG_URL') || name.startsWith('VITRINE_CATALOG_KEY') ? COMBINATIONS : {}
}

describe('settings: each one', () => {
  it.each(Object.entries(SETTING_CASES))('%s - valid text - is parsed', (name, [good]) => {
    const environment = { ...withRequiredSettings(name), [name]: good }
    expect(findProblems(environment)).toEqual([])
    const { [name]: _left, ...others } = environment
    const before = findProblems(others).length === 0 ? parseConfig(others) : null
    expect(parseConfig(environment)).not.toEqual(before)
  })

  const bad = Object.entries(SETTING_CASES).flatMap(([name, [, texts]]) =>
    texts.map((text) => [name, text] as const),
  )
  it.each(bad)('%s - "%s" - one problem without the text', (name, text) => {
    const problems = findProblems({ ...withRequiredSettings(name), [name]: text })
    expect(problems).toHaveLength(1)
    expect(problems[0]?.startsWith(`${name}: expected `)).toBe(true)
  })

  it('table of this test - has every setting', () => {
    expect(Object.keys(SETTING_CASES).toSorted()).toEqual(Object.keys(SETTINGS).toSorted())
  })
})

it('webhook - address and key require each other, and neither is printed', () => {
  const url = 'https://h.example/private-path'
  const secret = '0123456789abcdef'
  expect(findProblems({ VITRINE_EVENTS_URL: url })).toEqual([
    'VITRINE_EVENTS_URL: requires VITRINE_EVENTS_SECRET',
  ])
  expect(findProblems({ VITRINE_EVENTS_SECRET: secret })).toEqual([
    'VITRINE_EVENTS_SECRET: requires VITRINE_EVENTS_URL',
  ])
  const { secrets } = parseConfig({ VITRINE_EVENTS_URL: url, VITRINE_EVENTS_SECRET: secret })
  expect(JSON.stringify(secrets.webhook)).toBe('{"url":"[redacted]","secret":"[redacted]"}')
  expect(secrets.webhook?.url.reveal()).toBe(url)
})

function readPeriodsMs(pattern: string, times: readonly number[]): readonly (number | null)[] {
  const { config } = parseConfig({ VITRINE_SYNC_CRON: pattern })
  return times.map((timeMs) => config.findWalkPeriodMs?.(timeMs) ?? null)
}

/** A time in November 2026. */
const at = (day: number, hour: number, minute: number): number => Date.UTC(2026, 10, day, hour, minute)

describe('settings: period of the walks', () => {
  it.each([
    ['off', null],
    ['7 * * * *', HOUR_MS],
    ['*/15 * * * *', 15 * MINUTE_MS],
    ['0 3 * * *', DAY_MS],
    ['0 0 * * 1', 7 * DAY_MS],
    // A single run has no period.
    ['2099-01-01T00:00:00', null],
  ])('%s - %j ms at any time', (pattern, periodMs) => {
    const times = [at(24, 12, 30), at(25, 12, 30), at(26, 5, 30)]
    expect(readPeriodsMs(pattern, times)).toEqual(times.map(() => periodMs))
  })

  it('hourly on working days - an hour, a night or a weekend, depending on the time', () => {
    const friday = 27
    const monday = 30
    const periodsMs = readPeriodsMs('7 8-20 * * 1-5', [
      at(friday, 8, 6),
      at(friday, 8, 7),
      at(friday, 20, 6),
      at(friday, 20, 7),
      at(monday, 8, 6),
      at(monday, 8, 7),
      // The clock was set back.
      at(friday, 12, 0),
    ])
    expect(periodsMs.map((periodMs) => (periodMs ?? 0) / HOUR_MS)).toEqual([12, 1, 1, 60, 60, 1, 1])
  })
})

describe('settings: several problems', () => {
  it('three invalid settings - one message with all names and no value', () => {
    const environment = {
      VITRINE_PORT: 'hunter2port',
      VITRINE_FRESH_SECONDS: 'hunter2fresh',
      VITRINE_FRESHNESS: 'hunter2unknown',
      VITRINE_ADMIN_PASSWORD: 'hunter2 secret',
    }
    expect(findNames(environment).toSorted()).toEqual(Object.keys(environment).toSorted())
    expect(() => parseConfig(environment)).toThrow(
      expect.objectContaining({ code: 'VITRINE_CONFIG_INVALID' }),
    )
    expect(() => parseConfig(environment)).toThrow(/^(?![^]*hunter2)/)
  })

  it.each(['VITRINE_', 'VITRINE_TYPO', 'VITRINE_port', 'VITRINE_constructor', 'VITRINE___proto__'])(
    'unknown name %s - a problem',
    (name) => {
      expect(findNames({ [name]: '1' })).toEqual([name])
    },
  )

  it.each(['vitrine_port', 'Vitrine-Port', '\u00a0VITRINE_PORT', '\ufeffvitrine.port'])(
    'name %j, which means VITRINE_PORT - a problem, unless VITRINE_PORT is set, too',
    (name) => {
      expect(findProblems({ [name]: '80' })[0]).toMatch(/^VITRINE_PORT: written as "/)
      expect(findNames({ [name]: '' })).toEqual([])
      expect(findNames({ [name]: '80', VITRINE_PORT: '80' })).toEqual([])
    },
  )

  it.each(['vitrine_host_name', 'vitrine_feed_dir', 'XVITRINE_PORT', 'PATH', 'toString'])(
    'other name %s - is ignored',
    (name) => {
      expect(findProblems({ [name]: 'anything' })).toEqual([])
    },
  )
})

describe('settings: quotes and white space around a value', () => {
  const names = [...Object.keys(SETTINGS), 'PORT', 'VITRINE_FEED_AWIN_KEY']

  it.each(names)('%s in quotes - a problem that says so, without the value', (name) => {
    const required = withRequiredSettings(name)
    for (const quote of ['"', "'", '`']) {
      const problems = findProblems({ ...required, [name]: `${quote}hunter2${quote} \r` })
      expect(problems).toEqual([
        `${name}: the value is in quotes, which "docker --env-file", Kubernetes and CI keep; remove them`,
      ])
    }
  })

  it('one quote, quotes inside, typographic quotes - are part of the value', () => {
    for (const text of ['"', 'Ad: "x"', '“Ad”', '"Quote" and "other"'])
      expect(parseConfig({ VITRINE_DISCLOSURE: text }).config.disclosure).toEqual({ kind: 'text', text })
    const { secrets } = parseConfig({ VITRINE_ADMIN_PASSWORD: `"it's` })
    expect(secrets.adminPassword?.reveal()).toBe(`"it's`)
  })

  it.each(names)('%s with white space and a line end around it - the same value', (name) => {
    const [good] = SETTING_CASES[name as keyof typeof SETTINGS] ?? ['8080']
    const required = withRequiredSettings(name)
    const toJson = (text: string): string => {
      const { config, secrets } = parseConfig({ ...required, [name]: text })
      return JSON.stringify([
        config,
        secrets.adminPassword?.reveal(),
        secrets.feedSecrets.get('AWIN_KEY')?.reveal(),
      ])
    }
    expect(toJson(` ${good}\u00a0\r\n`)).toBe(toJson(good))
  })

  it.each(names)('%s of spaces only - a problem; of a line end only - not set', (name) => {
    const required =
      name === 'VITRINE_CATALOG_URL' || name === 'VITRINE_CATALOG_KEY_FILE' ? {} : withRequiredSettings(name)
    expect(findNames({ ...required, [name]: ' ' })).toContain(name)
    expect(JSON.stringify(parseConfig({ [name]: '\r' }))).toBe(JSON.stringify(parseConfig({})))
  })
})

describe('settings: VITRINE_HOST', () => {
  it.each([
    '127.0.0.1',
    '0.0.0.0',
    '::',
    '::1',
    'fe80::1%eth0',
    'localhost',
    'web-1.example',
    'my_service',
    '0',
  ])('%s - is accepted', (text) => {
    expect(parseConfig({ VITRINE_HOST: text }).config.host).toBe(text)
  })

  it.each([
    ['[::]', 'without brackets'],
    ['[::1]', 'without brackets'],
    ['*', 'write 0.0.0.0'],
    ['0.0.0.0:3000', 'without the port'],
    ['localhost:3000', 'without the port'],
    ['[::]:3000', 'without the port'],
    [':3000', 'without the port'],
    ['http://0.0.0.0', 'without "http://"'],
    ['/run/vitrine.sock', 'without "http://"'],
    ['256.0.0.1', 'out of range'],
    ['fe80::1', 'network interface'],
    ['my host', 'neither an address nor a name'],
  ])('%s - is refused: %s', (text, reason) => {
    expect(findProblems({ VITRINE_HOST: text })).toEqual([
      expect.stringMatching(/^VITRINE_HOST: .*; expected an IP address or host name/),
    ])
    expect(findProblems({ VITRINE_HOST: text })[0]).toContain(reason)
  })
})

describe('settings: combinations', () => {
  it.each<[string, Environment, number]>([
    ['address with key', REMOTE, 0],
    ['address with key file', COMBINATIONS, 0],
    ['address alone', { VITRINE_CATALOG_URL: 'https://catalog.example' }, 1],
    ['key alone', { VITRINE_CATALOG_KEY: 'k' }, 1],
    ['key file alone', { VITRINE_CATALOG_KEY_FILE: '/run/key' }, 1],
    ['key and key file', { ...REMOTE, ...COMBINATIONS }, 1],
    ['address with an empty key', { ...REMOTE, VITRINE_CATALOG_KEY: '' }, 1],
  ])('%s - %s', (_name, environment, count) => {
    expect(findProblems(environment)).toHaveLength(count)
  })
})

describe('settings: empty texts, PORT, Kubernetes', () => {
  it('empty text - counts as not set, also for unknown names', () => {
    const environment = Object.fromEntries(
      [...Object.keys(SETTINGS), 'VITRINE_TYPO', 'PORT'].map((name) => [name, '']),
    )
    expect(JSON.stringify(parseConfig(environment))).toBe(JSON.stringify(parseConfig({})))
  })

  it.each<[string, Environment, number]>([
    ['PORT alone', { PORT: '8080' }, 8_080],
    ['both', { PORT: '8080', VITRINE_PORT: '9090' }, 9_090],
    ['VITRINE_PORT empty', { PORT: '8080', VITRINE_PORT: '' }, 8_080],
    ['VITRINE_PORT of Kubernetes', { PORT: '8080', VITRINE_PORT: 'tcp://10.0.0.1:80' }, 8_080],
    ['only that of Kubernetes', { VITRINE_PORT: 'tcp://10.0.0.1:80' }, 3_000],
  ])('%s - port %i', (_name, environment, port) => {
    expect(parseConfig(environment).config.port).toBe(port)
  })

  it('invalid PORT - is reported as PORT', () => {
    expect(findNames({ PORT: 'http' })).toEqual(['PORT'])
  })

  it('names that Kubernetes injects for services called vitrine and vitrine-… - are ignored', () => {
    const environment: Environment = {}
    const add = (service: string): void => {
      Object.assign(environment, {
        [`${service}_SERVICE_HOST`]: '10.0.0.1',
        [`${service}_SERVICE_PORT`]: '80',
        [`${service}_SERVICE_PORT_HTTP`]: '80',
        [`${service}_PORT`]: 'tcp://10.0.0.1:80',
        [`${service}_PORT_80_TCP`]: 'tcp://10.0.0.1:80',
        [`${service}_PORT_80_TCP_PROTO`]: 'tcp',
        [`${service}_PORT_80_TCP_PORT`]: '80',
        [`${service}_PORT_80_TCP_ADDR`]: '10.0.0.1',
        [`${service}_PORT_53_UDP`]: 'udp://10.0.0.1:53',
      })
    }
    for (const service of ['VITRINE', 'VITRINE_WEB', 'VITRINE_MY_SHOP_2']) add(service)
    expect(JSON.stringify(parseConfig(environment))).toBe(JSON.stringify(parseConfig({})))
  })

  const OTHER_TEXTS = ['VITRINE_WEB_PORT', 'VITRINE_PORT_80', 'VITRINE_SERVICE', 'VITRINE_HOST_SERVICE']
  it.each(OTHER_TEXTS)('%s with another text - is unknown', (name) => {
    expect(findNames({ [name]: '80' })).toEqual([name])
  })
})

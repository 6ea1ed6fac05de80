import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DCLinter } from 'dclint'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import { PACKAGE_FOLDER, VERSION } from '../../../src/lib/paths.ts'
import { readStartOptions } from './dockerfile.ts'
import { readYaml } from './manifests.ts'

type Service = Readonly<{
  image: string
  environment: Record<string, string>
  volumes?: string[]
  ports?: string[]
  user?: string
  read_only?: boolean
  cap_drop?: string[]
  stop_grace_period?: string
  tmpfs?: string[]
  networks: string[]
  healthcheck: { test: string[] }
}>
type Compose = Readonly<{
  services: Record<string, Service>
  networks: Record<string, { internal?: boolean }>
}>

const FILES = ['compose.yaml', 'deploy/compose/key-file.yaml'] as const
const { services, networks } = readYaml(FILES[0]) as Compose
const servers = ['vitrine-a', 'vitrine-b'].flatMap((name) => services[name] ?? [])

/** What the linter's own types leave open. */
type Results = Readonly<{ messages: unknown[] }>[]

/** The order of names is ours: what belongs together stands together. */
const RULES = {
  'service-keys-order': 0,
  'services-alphabetical-order': 0,
  'top-level-properties-order': 0,
} as const

const read = (path: string): string => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')

/** `${NAME}`, `${NAME:-instead}` and `${NAME:?what to do}`, as Compose fills them in. */
function fillIn(environment: Record<string, string>, given: Record<string, string>): Record<string, string> {
  const fill = (text: string): string =>
    text.replaceAll(/\$\{(\w+)(?::(-|\?)[^}]*)?\}/g, (whole, name: string, sign?: string) => {
      const rest = whole.slice(`\${${name}:${sign}`.length, -1)
      const value = given[name] ?? (sign === '-' ? rest : undefined)
      if (value === undefined) throw new Error(`${name}: ${rest}`)
      return value
    })
  return Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, fill(text)]))
}

describe('compose.yaml', () => {
  it.each(FILES)('%s - against the schema of Compose, and rules of good sense - is clean', (file) => {
    const linter = new DCLinter({ rules: RULES, quiet: false, debug: false, exclude: [] })
    const results: Results = linter.lintFiles([join(PACKAGE_FOLDER, file)], false)
    expect(results).toHaveLength(1)
    expect(results.flatMap(({ messages }) => messages)).toEqual([])
  })

  it('its environment - with a password, and nothing else set - is one that the server takes', () => {
    for (const { environment } of servers) {
      const filled = fillIn(environment, { POSTGRES_PASSWORD: 'a1b2' })
      const { config } = parseConfig({ ...readStartOptions().environment, ...filled })
      expect(config.database).toMatchObject({ kind: 'postgres', host: 'database', database: 'vitrine' })
      expect(config.catalog).toMatchObject({ kind: 'embedded' })
      expect([config.host, config.port]).toEqual(['0.0.0.0', 3000])
    }
    expect(() => fillIn(servers[0]?.environment ?? {}, {})).toThrow('put POSTGRES_PASSWORD into .env')
  })

  it('its environment - with a catalog and its key as a file - is one that the server takes', () => {
    const over = (readYaml(FILES[1]) as Compose).services
    expect(Object.keys(over)).toEqual(['vitrine-a', 'vitrine-b'])
    for (const { environment, volumes } of Object.values(over)) {
      const given = { POSTGRES_PASSWORD: 'a1b2', VITRINE_CATALOG_URL: 'https://catalog.example/api' }
      const { config } = parseConfig(fillIn({ ...servers[0]?.environment, ...environment }, given))
      expect(config.catalog).toMatchObject({ kind: 'remote' })
      const [, target = 'none'] = volumes?.[0]?.split(':') ?? []
      expect(environment['VITRINE_CATALOG_KEY_FILE']).toMatch(new RegExp(`^${target}/`))
    }
  })

  it('the key as a file - where operators are told to put it - is in no commit, and no command leaves it out', () => {
    const [volume = ''] = (readYaml(FILES[1]) as Compose).services['vitrine-a']?.volumes ?? []
    expect(read('.gitignore').split('\n')).toContain(`/${volume.split(':')[0]?.replace('./', '')}/`)
    const text = read('docs/operate/deployment.md')
    expect(text).toContain(`COMPOSE_FILE=${FILES.join(':')}`)
    expect(text).not.toContain('docker compose --file')
  })

  it('the database - its own check - asks for the database that there is', () => {
    const { environment, healthcheck } = services['database'] ?? {}
    expect(healthcheck?.test).toContain(`--dbname=${environment?.['POSTGRES_DB']}`)
    expect(healthcheck?.test).toContain(`--username=${environment?.['POSTGRES_USER']}`)
  })

  it('files that are mounted - from this repository - are there', () => {
    const sources = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.flatMap((volume) => /^\.\/([^:]+):/.exec(volume)?.[1] ?? []),
    )
    expect(sources.length).toBeGreaterThan(0)
    for (const source of sources) expect(existsSync(join(PACKAGE_FOLDER, source)), source).toBe(true)
  })

  it('servers - both of them - are this version, sealed, and given the time that a stop takes', () => {
    expect(servers).toHaveLength(2)
    for (const server of servers) {
      expect(server).toMatchObject({ image: `vitrine:${VERSION}`, read_only: true, cap_drop: ['ALL'] })
      expect(server.ports).toBeUndefined()
      expect(parseInt(server.stop_grace_period ?? '', 10)).toBeGreaterThan(10)
      expect(server.tmpfs?.map((mount) => mount.split(':')[0])).toEqual(['/tmp', '/data'])
    }
  })

  it('the outside - of all services - reaches the balancer, on this machine, and never the database', () => {
    const open = Object.entries(services).filter(([, { ports }]) => ports !== undefined)
    expect(open.map(([name, { ports }]) => [name, ports])).toEqual([['balancer', ['127.0.0.1:8080:8080']]])
    expect(services['database']?.networks).toEqual(['inside'])
    expect(networks['inside']?.internal).toBe(true)
  })
})

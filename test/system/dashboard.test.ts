import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import type { Environment } from '../../src/config/config.ts'
import { EVENT_LOOP_SAMPLE_INTERVAL_MS } from '../../src/observability/metrics.ts'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { BOX, makeProductOnSale, startStockedHarness, fetchPath } from '../app/app-client.ts'
import { makeFolder, makeSettings, runInProcess } from '../cli/run-cli.ts'
import { readYaml } from './deploy/manifests.ts'
import { fetchText, startCluster } from './cluster/cluster-server.ts'

type Panel = Readonly<{
  id: number
  type: string
  title: string
  description?: string
  gridPos: Readonly<{ x: number; y: number; w: number; h: number }>
  targets?: readonly Readonly<{ expr: string }>[]
}>

const { panels } = JSON.parse(
  readFileSync(join(PACKAGE_FOLDER, 'docs/operate/grafana/vitrine.json'), 'utf8'),
) as Readonly<{ panels: readonly Panel[] }>
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Return the metrics pages of a single process and of a cluster. */
async function readPages(): Promise<string> {
  const settings = { VITRINE_ADMIN_PASSWORD: 'p', VITRINE_CATALOG_DAILY_LIMIT: '5000' }
  const harness = await startStockedHarness(undefined, { settings })
  await fetchPath(harness, BOX)
  harness.context.metrics.countDrops({ price: 1 }, CHANNEL_ID)
  const { text } = await fetchPath(harness, '/metrics', { Authorization: `Basic ${btoa('admin:p')}` })
  const clusterSettings = await createCatalogWithFeed()
  const cluster = await startCluster(clusterSettings)
  return `${text}\n${await fetchText(`${cluster.publicUrl}/metrics`)}`
}

/** Import a feed, and return the settings of a server with its catalog. */
async function createCatalogWithFeed(): Promise<Environment> {
  const folder = makeFolder()
  const settings = makeSettings(folder)
  const file = join(folder, 'kopje.ndjson')
  writeFileSync(file, JSON.stringify(makeProductOnSale()))
  const { code } = await runInProcess(['catalog', 'import', file], settings)
  expect(code).toBe(0)
  return settings
}

let knownMetrics: Promise<Map<string, Set<string>>> | undefined

/** Return the metrics of both pages with their labels; the pages are fetched once. */
function readMetrics(): Promise<Map<string, Set<string>>> {
  return (knownMetrics ??= collectMetrics())
}

async function collectMetrics(): Promise<Map<string, Set<string>>> {
  const text = await readPages()
  const metrics = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z_0-9]+)(?:\{(.*)\})? \S+$/gm)) {
    const known = metrics.get(name) ?? new Set()
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
    metrics.set(name, known)
  }
  return metrics
}

test('dashboard - every metric and label in its queries - is on the metrics page', async () => {
  const metrics = await readMetrics()
  expect(expressions.length).toBeGreaterThan(25)
  for (const expression of expressions) {
    for (const [, name = ''] of expression.matchAll(/\b((?:vitrine|nodejs|process)_\w+)\{/g)) {
      expect(metrics.has(name), `${name} in ${expression}`).toBe(true)
      const labels = /by \(([\w, ]+)\)/.exec(expression)?.[1]?.split(', ') ?? []
      for (const label of labels.filter((one) => one !== 'instance'))
        expect([...(metrics.get(name) ?? [])], `${label} of ${name}`).toContain(label)
    }
  }
})

test('metrics page - every Vitrine metric - is on the dashboard', async () => {
  const vitrineMetrics = [...(await readMetrics()).keys()].filter((name) => name.startsWith('vitrine_'))
  const unused = vitrineMetrics.filter(
    (name) => !expressions.some((expression) => expression.includes(`${name}{`)),
  )
  // The dashboard shows the age of the copy instead.
  expect(unused).toEqual(['vitrine_copy_completed_timestamp_seconds'])
})

test('event loop panel - subtracts the value of an idle event loop', () => {
  const lagExpressions = expressions.filter((expression) =>
    expression.includes('nodejs_eventloop_lag_p99_seconds{'),
  )
  expect(lagExpressions).toHaveLength(1)
  expect(lagExpressions[0]).toContain(`} - ${EVENT_LOOP_SAMPLE_INTERVAL_MS / SECOND_MS}`)
})

test('panels - have a unique id, a title and a description, and do not overlap', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const panel of panels) {
    expect(panel.title).not.toBe('')
    expect(panel.type === 'row' ? 'A row.' : panel.description, panel.title).toMatch(/[.?]$/)
    for (const other of panels) {
      const [a, b] = [panel.gridPos, other.gridPos]
      const isSeparatePanel = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y
      expect(isSeparatePanel || panel === other, `${panel.title}, ${other.title}`).toBe(true)
    }
  }
})

type Alert = Readonly<{
  alert: string
  expr: string
  labels: Readonly<{ severity: string }>
  annotations: Readonly<{ summary: string }>
}>

const { groups } = readYaml('docs/operate/grafana/vitrine-alerts.yml') as Readonly<{
  groups: readonly Readonly<{ rules: readonly Alert[] }>[]
}>
const alerts = groups.flatMap(({ rules }) => rules)

test('alerts - every metric and label in their queries - is on the metrics page', async () => {
  const metrics = await readMetrics()
  expect(alerts.length).toBeGreaterThan(8)
  for (const { alert, expr } of alerts) {
    const names = [...expr.matchAll(/\bvitrine_\w+/g)].map(([name]) => name)
    for (const name of names) expect([...metrics.keys()], alert).toContain(name)
    const labels = [...expr.matchAll(/by \((\w+)\)|[{,](\w+)=/g)].map(
      ([, grouped, matched]) => grouped ?? matched ?? '',
    )
    for (const name of new Set(names))
      for (const label of labels) expect([...(metrics.get(name) ?? [])], alert).toContain(label)
  }
})

test('alerts - have a unique name and a severity, and use only labels that their expression retains', () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  for (const { labels, annotations, expr } of alerts) {
    expect(labels.severity).toMatch(/^(?:page|warning)$/)
    for (const [, label = ''] of annotations.summary.matchAll(/\$labels\.(\w+)/g))
      expect(label === 'instance' || expr.includes(`by (${label})`), annotations.summary).toBe(true)
  }
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.d.ts'
import type { ConfigMap, EnvVar, Secret, Service } from 'kubernetes-types/core/v1.d.ts'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import { PACKAGE_FOLDER, VERSION } from '../../../src/lib/paths.ts'
import { findFreePort } from '../includes/program.ts'
import { readStartOptions } from './dockerfile.ts'
import { MANIFESTS, checkTypes, readYaml } from './manifests.ts'

/** As they are written: a field that is not there is seen when it is looked for. */
type DeepRequired<T> = { [Name in keyof T]-?: DeepRequired<NonNullable<T[Name]>> }

const FOLDER = 'deploy/kubernetes'
const deployment = readYaml(`${FOLDER}/deployment.yaml`) as DeepRequired<Deployment>
const settings = readYaml(`${FOLDER}/settings.yaml`) as DeepRequired<ConfigMap>
const secret = readYaml(`${FOLDER}/secret.example.yaml`) as DeepRequired<Secret>
const service = readYaml(`${FOLDER}/service.yaml`) as DeepRequired<Service>
const podsService = readYaml(`${FOLDER}/pods-service.yaml`) as DeepRequired<Service>
const budget = readYaml(`${FOLDER}/disruption-budget.yaml`) as DeepRequired<PodDisruptionBudget>
const autoscaler = readYaml(`${FOLDER}/autoscaler.yaml`) as DeepRequired<HorizontalPodAutoscaler>

const pod = deployment.spec.template.spec
const container = findNamed(pod.containers, 'vitrine')

type Kustomization = Readonly<{ resources: string[]; images: { name: string; newTag: string }[] }>

/** A stop of the server itself, at most. */
const STOP_SECONDS = 10

/** Cores that a walk takes beside visitors, those that visitors take of each pod of a cell, and how long a walk is: docs/operate/sizing.md. */
const WALK_CORES = 0.7
const VISITORS_CORES = 0.29
const WALK_SECONDS = 500

/** What the container's environment is: the image's, the settings', and the secret's for those that it names. */
function collectEnvironment(): Record<string, string> {
  const environment: Record<string, string> = { ...readStartOptions().environment, ...settings.data }
  for (const { name, value, valueFrom } of container.env as EnvVar[]) {
    const key = valueFrom?.secretKeyRef?.key
    const text = key === undefined ? value : secret.stringData[key]
    if (text === undefined) throw new Error(`${name}: the secret has no ${key}`)
    environment[name] = text
  }
  return environment
}

function findNamed<T extends { name: string }>(list: readonly T[], name: string): T {
  const found = list.find((item) => item.name === name)
  if (found === undefined) throw new Error(`nothing here is named ${name}`)
  return found
}

describe('the manifests for Kubernetes', () => {
  it('each one - against the types of its interface - has no other fields, and none of another kind', async () => {
    expect(MANIFESTS.length).toBeGreaterThan(5)
    expect(await checkTypes(MANIFESTS.map((path) => readYaml(path)))).toBe('')
  })

  it('the check itself - given a field that there is not, or a text for a number - says so', async () => {
    const wrong = structuredClone(deployment) as unknown as { spec: { template: { spec: object } } }
    Object.assign(wrong.spec.template.spec, { enableServiceLink: false })
    expect(await checkTypes([wrong])).toContain(`"enableServiceLink"' does not exist`)
    expect(await checkTypes([{ ...service, spec: { ports: [{ port: '80' }] } }])).toContain("'string'")
    expect(await checkTypes([{ ...service, apiVersion: 'v7' }])).toContain('v7')
  })

  it('the kustomization - its resources - are there, all but the example of a secret, at this version', () => {
    const kustomization = readYaml(`${FOLDER}/kustomization.yaml`) as Kustomization
    expect(Object.keys(kustomization).toSorted()).toEqual(['apiVersion', 'images', 'kind', 'resources'])
    const others = MANIFESTS.filter((path) => !path.endsWith('/secret.example.yaml'))
    expect(kustomization.resources.map((name) => `${FOLDER}/${name}`).toSorted()).toEqual(others.toSorted())
    for (const path of others) expect(existsSync(join(PACKAGE_FOLDER, path))).toBe(true)
    expect(container.image).toBe(`vitrine:${VERSION}`)
    expect(kustomization.images).toEqual([expect.objectContaining({ name: 'vitrine', newTag: VERSION })])
  })

  it('settings and secret - as the container gets them - are settings that the server takes', () => {
    const { config } = parseConfig(collectEnvironment())
    expect(config.host).toBe('0.0.0.0')
    expect(config.catalog).toMatchObject({ kind: 'remote' })
    expect(config.database).toMatchObject({ kind: 'postgres', tls: 'verify-full' })
  })

  it('files of the secret - where settings look for them - are mounted, as a folder that follows changes', () => {
    const mount = findNamed(container.volumeMounts, 'secrets')
    const { items, optional } = findNamed(pod.volumes, 'secrets').secret
    // Who has no catalog of his own, or no certificate, has pods all the same.
    expect(optional).toBe(true)
    expect(items.map(({ path }) => `${mount.mountPath}/${path}`)).toEqual([
      findNamed(container.env, 'VITRINE_CATALOG_KEY_FILE').value,
      /sslrootcert=([^&]+)/.exec(secret.stringData['database-url'] ?? '')?.[1],
    ])
    for (const { key } of items) expect(Object.keys(secret.stringData)).toContain(key)
    expect(Object.keys(mount)).not.toContain('subPath')
  })

  it('the example of a secret - its texts - hold none', () => {
    const texts = Object.values(secret.stringData)
    expect(Object.keys(secret)).not.toContain('data')
    for (const text of texts) expect(text).toMatch(/put (?:the|a) |put-(?:the|a)-/)
  })

  it('labels - of whatever chooses pods - are those of the pods', () => {
    const { labels } = deployment.spec.template.metadata
    const choices = [
      deployment.spec.selector.matchLabels,
      service.spec.selector,
      podsService.spec.selector,
      budget.spec.selector.matchLabels,
      ...pod.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels),
    ]
    expect(choices).toHaveLength(6)
    for (const choice of choices) expect(choice).toEqual(labels)
    expect(autoscaler.spec.scaleTargetRef).toMatchObject({
      name: deployment.metadata.name,
      kind: 'Deployment',
    })
  })

  it('ports and probes - of container and service - are those of the image', () => {
    const containerPort = Number(readStartOptions().environment['VITRINE_PORT'])
    expect(container.ports).toEqual([{ name: 'http', containerPort }])
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual(['http'])
    for (const probe of [container.startupProbe, container.livenessProbe])
      expect(probe.httpGet).toEqual({ path: '/healthz', port: 'http' })
  })

  it('the service of all pods - for the probe - has those that are not ready, too, each by its address', () => {
    expect(podsService.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
    expect(container.readinessProbe.exec.command.at(-1)).toContain(`'${podsService.metadata.name}'`)
  })

  // What each pod says: whether it is ready, and whether it reaches the database. The first is the pod's own.
  it.each([
    { pods: ['ready connected'], code: 0, name: 'alone, with its database' },
    { pods: ['not ready', 'ready connected'], code: 1, name: 'not ready' },
    { pods: ['ready', 'ready', 'ready connected'], code: 1, name: 'cut off alone' },
    { pods: ['ready', 'ready', 'not ready'], code: 0, name: 'all cut off' },
    { pods: ['ready'], code: 0, name: 'cut off, no other pod' },
    { pods: ['ready', 'nobody there'], code: 0, name: 'cut off, the other pod gone' },
    { pods: ['ready'], code: 0, name: 'cut off, the name server silent', isNameServerSilent: true },
  ])('the readiness probe - $name - ends with $code', async ({ pods, code, isNameServerSilent }) => {
    const port = await findFreePort()
    const addresses = pods.map((_, index) => `127.0.0.${index + 1}`)
    for (const [index, said] of pods.entries()) {
      if (said === 'nobody there') continue
      const server = createServer(({ url }, response) => {
        const isWell = said.includes(url === '/readyz' ? 'ready' : 'connected') && !said.startsWith('not')
        response.writeHead(isWell ? 200 : 503).end()
      }).listen(port, addresses[index])
      onTestFinished(() => void server.close())
      await once(server, 'listening')
    }
    const [command = '', ...parameters] = container.readinessProbe.exec.command
    const script = parameters.at(-1)?.replace(':3000/', `:${port}/`) ?? ''
    const known = JSON.stringify(addresses.map((address) => ({ address, family: 4 })))
    // A lookup under way keeps the process alive.
    const answer = isNameServerSilent === true ? 'new Promise(() => setInterval(() => {}, 1e6))' : known
    const names = `require('node:dns').promises.lookup = async () => (${answer});`
    const probe = spawn(command === 'node' ? process.execPath : command, [
      ...parameters.slice(0, -1),
      names + script,
    ])
    onTestFinished(() => void probe.kill())
    expect((await once(probe, 'exit'))[0]).toBe(code)
  })

  it('a stop - what it is given - is longer than the server takes', () => {
    const waitSeconds = container.lifecycle.preStop.sleep.seconds
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(waitSeconds + STOP_SECONDS)
  })

  it('the pod - what it may do - is what the restricted standard allows, on a file system that stays as it is', () => {
    expect(pod).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false })
    const [user, group] = readStartOptions().user.split(':').map(Number)
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { memory: expect.any(String) },
    })
  })

  it('replicas - whoever says how many - is the autoscaler alone, and one can always go', () => {
    expect(Object.keys(deployment.spec)).not.toContain('replicas')
    expect(autoscaler.spec.minReplicas).toBeGreaterThanOrEqual(2)
    expect(budget.spec.maxUnavailable).toBe(1)
    // A walk in one of two pods is no reason for a third.
    const { averageUtilization } = autoscaler.spec.metrics[0]?.resource.target ?? {}
    expect(container.resources.requests['cpu']).toBe('1')
    expect(averageUtilization).toBeGreaterThan(((WALK_CORES + VISITORS_CORES * 2) / 2) * 100)
    expect(autoscaler.spec.behavior.scaleUp.stabilizationWindowSeconds).toBeGreaterThan(WALK_SECONDS)
    expect(deployment.spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
  })
})

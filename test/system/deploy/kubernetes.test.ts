import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { BlockList, isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.d.ts'
import type { ConfigMap, EnvVar, Secret, Service } from 'kubernetes-types/core/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import { PACKAGE_FOLDER, VERSION } from '../../../src/lib/files.ts'
import { findFreePort } from '../includes/program.ts'
import { readStartOptions } from './dockerfile.ts'
import { MANIFESTS, checkTypes, readYaml } from './manifests.ts'

/** All fields count as present, because a missing field fails the test that reads it. */
type DeepRequired<T> = { [Name in keyof T]-?: DeepRequired<NonNullable<T[Name]>> }

const FOLDER = 'deploy/kubernetes'
const deployment = readYaml(`${FOLDER}/deployment.yaml`) as DeepRequired<Deployment>
const settings = readYaml(`${FOLDER}/settings.yaml`) as DeepRequired<ConfigMap>
const secret = readYaml(`${FOLDER}/secret.example.yaml`) as DeepRequired<Secret>
const service = readYaml(`${FOLDER}/service.yaml`) as DeepRequired<Service>
const podsService = readYaml(`${FOLDER}/pods-service.yaml`) as DeepRequired<Service>
const budget = readYaml(`${FOLDER}/disruption-budget.yaml`) as DeepRequired<PodDisruptionBudget>
const network = readYaml(`${FOLDER}/network-policy.yaml`) as NetworkPolicy
const autoscaler = readYaml(`${FOLDER}/autoscaler.yaml`) as DeepRequired<HorizontalPodAutoscaler>

const pod = deployment.spec.template.spec
const container = findNamed(pod.containers, 'vitrine')

type Kustomization = Readonly<{ resources: string[]; images: { name: string; newTag: string }[] }>

/** Maximum duration of a stop of the server. */
const STOP_SECONDS = 10

/** Cores of a walk, cores that visitors need in each pod, and the duration of a walk, from docs/operate/sizing.md. */
const WALK_CORES = 0.7
const VISITORS_CORES = 0.29
const WALK_SECONDS = 500

/** Merge the environment of the container: from the image, the settings, and the secret. */
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
  if (found === undefined) throw new Error(`no item has the name ${name}`)
  return found
}

/** Whether the network policy lets a pod connect to an address outside of the cluster. */
function isAllowed(address: string, port: number, protocol: string): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  const contains = (block: string): boolean => {
    const [prefix = '', bits] = block.split('/')
    const list = new BlockList()
    list.addSubnet(prefix, Number(bits), isIPv6(prefix) ? 'ipv6' : 'ipv4')
    return isIPv6(prefix) === isIPv6(address) && list.check(address, family)
  }
  return (network.spec?.egress ?? []).some(
    ({ to, ports = [] }) =>
      ports.some((rule) => rule.port === port && rule.protocol === protocol) &&
      (to?.some(({ ipBlock }) => ipBlock && contains(ipBlock.cidr) && !ipBlock.except?.some(contains)) ??
        true),
  )
}

describe('the Kubernetes manifests', () => {
  it('each manifest - checked against the types of its API - has no unknown fields and no wrong types', async () => {
    expect(MANIFESTS.length).toBeGreaterThan(5)
    expect(await checkTypes(MANIFESTS.map((path) => readYaml(path)))).toBe('')
  })

  it('the type check - an unknown field, a text instead of a number, an unknown API - reports an error', async () => {
    const wrong = structuredClone(deployment) as unknown as { spec: { template: { spec: object } } }
    Object.assign(wrong.spec.template.spec, { enableServiceLink: false })
    expect(await checkTypes([wrong])).toContain(`"enableServiceLink"' does not exist`)
    expect(await checkTypes([{ ...service, spec: { ports: [{ port: '80' }] } }])).toContain("'string'")
    expect(await checkTypes([{ ...service, apiVersion: 'v7' }])).toContain('v7')
  })

  it('the kustomization - lists every manifest except the example secret, and this version', () => {
    const kustomization = readYaml(`${FOLDER}/kustomization.yaml`) as Kustomization
    expect(Object.keys(kustomization).toSorted()).toEqual(['apiVersion', 'images', 'kind', 'resources'])
    const others = MANIFESTS.filter((path) => !path.endsWith('/secret.example.yaml'))
    expect(kustomization.resources.map((name) => `${FOLDER}/${name}`).toSorted()).toEqual(others.toSorted())
    for (const path of others) expect(existsSync(join(PACKAGE_FOLDER, path))).toBe(true)
    expect(container.image).toBe(`vitrine:${VERSION}`)
    expect(kustomization.images).toEqual([expect.objectContaining({ name: 'vitrine', newTag: VERSION })])
  })

  it('settings and secret - merged as in the container - are accepted by the server', () => {
    const { config } = parseConfig(collectEnvironment())
    expect(config.host).toBe('0.0.0.0')
    expect(config.catalog).toMatchObject({ kind: 'remote' })
    expect(config.database).toMatchObject({ kind: 'postgres', tls: 'verify-full' })
  })

  it('files of the secret - are mounted where the settings expect them, as a folder so that updates arrive', () => {
    const mount = findNamed(container.volumeMounts, 'secrets')
    const { items, optional } = findNamed(pod.volumes, 'secrets').secret
    // Pods must also start without a remote catalog or a certificate.
    expect(optional).toBe(true)
    expect(items.map(({ path }) => `${mount.mountPath}/${path}`)).toEqual([
      findNamed(container.env, 'VITRINE_CATALOG_KEY_FILE').value,
      /sslrootcert=([^&]+)/.exec(secret.stringData['database-url'] ?? '')?.[1],
    ])
    for (const { key } of items) expect(Object.keys(secret.stringData)).toContain(key)
    expect(Object.keys(mount)).not.toContain('subPath')
  })

  it('the example secret - contains only placeholders', () => {
    const texts = Object.values(secret.stringData)
    expect(Object.keys(secret)).not.toContain('data')
    for (const text of texts) expect(text).toMatch(/put (?:the|a) |put-(?:the|a)-/)
  })

  it('label selectors - match the labels of the pods', () => {
    const { labels } = deployment.spec.template.metadata
    const selectors = [
      deployment.spec.selector.matchLabels,
      service.spec.selector,
      podsService.spec.selector,
      budget.spec.selector.matchLabels,
      network.spec?.podSelector.matchLabels,
      ...(network.spec?.egress ?? []).flatMap(({ to = [] }) =>
        to.map(({ podSelector }) => podSelector?.matchLabels).filter(Boolean),
      ),
      ...pod.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels),
    ]
    expect(selectors).toHaveLength(8)
    for (const selector of selectors) expect(selector).toEqual(labels)
    expect(autoscaler.spec.scaleTargetRef).toMatchObject({
      name: deployment.metadata.name,
      kind: 'Deployment',
    })
  })

  it('ports and probes - of the container and the service - match the image', () => {
    const containerPort = Number(readStartOptions().environment['VITRINE_PORT'])
    expect(container.ports).toEqual([{ name: 'http', containerPort }])
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual(['http'])
    for (const probe of [container.startupProbe, container.livenessProbe])
      expect(probe.httpGet).toEqual({ path: '/healthz', port: 'http' })
  })

  it('the network policy - accepts connections to the port of the container only, also from its other pods', () => {
    const ports = [{ protocol: 'TCP', port: container.ports[0]?.containerPort }]
    expect(network.spec?.policyTypes).toEqual(['Ingress', 'Egress'])
    expect(network.spec?.ingress).toEqual([{ ports }])
    const toPods = network.spec?.egress?.filter(({ to }) => to?.some(({ podSelector }) => podSelector))
    expect(toPods?.map((rule) => rule.ports)).toEqual([ports])
  })

  it('the network policy - lets pods reach catalog and database of the example settings, also in the cluster', () => {
    const database = new URL(secret.stringData['database-url'] ?? '')
    expect(new URL(settings.data['VITRINE_CATALOG_URL'] ?? '')).toMatchObject({
      protocol: 'https:',
      port: '',
    })
    const ports = network.spec?.egress?.find(({ to }) => to?.some((peer) => peer.namespaceSelector))?.ports
    expect(ports?.map(({ port }) => port)).toEqual([443, Number(database.port)])
  })

  it.each([
    ['192.0.2.1', 443, 'TCP', true],
    ['2001:db8::1', 443, 'TCP', true],
    ['10.0.0.9', 5432, 'TCP', true],
    ['10.96.0.10', 53, 'UDP', true],
    ['169.254.20.10', 53, 'UDP', true],
    ['169.254.169.254', 80, 'TCP', false],
    ['169.254.169.254', 443, 'TCP', false],
    ['fe80::1', 443, 'TCP', false],
    ['fd00:ec2::254', 443, 'TCP', false],
    ['10.0.0.9', 6379, 'TCP', false],
    ['192.0.2.1', 443, 'UDP', false],
  ])('the network policy, %s:%i/%s - allowed: %s', (address, port, protocol, expected) => {
    expect(isAllowed(address, port, protocol)).toBe(expected)
  })

  it('the headless service for the readiness probe - also lists the addresses of pods that are not ready', () => {
    expect(podsService.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
    expect(container.readinessProbe.exec.command.at(-1)).toContain(`'${podsService.metadata.name}'`)
  })

  // State of each pod: whether it is ready, and whether it is connected to the database. The probe runs in the first pod.
  it.each([
    { pods: ['ready connected'], code: 0, name: 'a single pod with its database' },
    { pods: ['not ready', 'ready connected'], code: 1, name: 'pod not ready' },
    { pods: ['ready', 'ready', 'ready connected'], code: 1, name: 'only this pod cut off' },
    { pods: ['ready', 'ready', 'not ready'], code: 0, name: 'all pods cut off' },
    { pods: ['ready'], code: 0, name: 'pod cut off, no other pod' },
    { pods: ['ready', 'stopped'], code: 0, name: 'pod cut off, the other pod stopped' },
    {
      pods: ['ready'],
      code: 0,
      name: 'pod cut off, name server hangs',
      isNameServerSilent: true,
    },
  ])('the readiness probe - $name - exits with $code', async ({ pods, code, isNameServerSilent }) => {
    const port = await findFreePort()
    const addresses = pods.map((_, index) => `127.0.0.${index + 1}`)
    for (const [index, state] of pods.entries()) {
      if (state === 'stopped') continue
      const server = createServer(({ url }, response) => {
        const isOk = state.includes(url === '/readyz' ? 'ready' : 'connected') && !state.startsWith('not')
        response.writeHead(isOk ? 200 : 503).end()
      }).listen(port, addresses[index])
      onTestFinished(() => void server.close())
      await once(server, 'listening')
    }
    const [command = '', ...parameters] = container.readinessProbe.exec.command
    const script = parameters.at(-1)?.replace(':3000/', `:${port}/`) ?? ''
    const addressList = JSON.stringify(addresses.map((address) => ({ address, family: 4 })))
    // A pending lookup keeps the process alive.
    const lookup = isNameServerSilent === true ? 'new Promise(() => setInterval(() => {}, 1e6))' : addressList
    const stub = `require('node:dns').promises.lookup = async () => (${lookup});`
    const probe = spawn(command === 'node' ? process.execPath : command, [
      ...parameters.slice(0, -1),
      stub + script,
    ])
    onTestFinished(() => void probe.kill())
    expect((await once(probe, 'exit'))[0]).toBe(code)
  })

  it('the termination grace period - is longer than the stop of the server', () => {
    const waitSeconds = container.lifecycle.preStop.sleep.seconds
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(waitSeconds + STOP_SECONDS)
  })

  it('the pod - meets the restricted Pod Security Standard, with a read-only file system', () => {
    expect(pod).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false })
    // The kubelet checks a number only.
    expect(readStartOptions().user).toMatch(/^[1-9]\d*:/)
    expect(pod.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
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

  it('the pod - has no user and group of its own, which OpenShift (restricted-v2) refuses, and any user can read the secrets', () => {
    expect(JSON.stringify(pod)).not.toMatch(/"(?:runAsUser|runAsGroup|fsGroup|supplementalGroups)"/)
    const volumes = pod.volumes.map((volume) => Object.keys(volume).filter((key) => key !== 'name'))
    expect(volumes).toEqual([['secret'], ['emptyDir']])
    expect(pod.volumes[0]?.secret?.defaultMode).toBe(0o444)
  })

  it('replicas - are set only by the autoscaler, and one pod may always be removed', () => {
    expect(Object.keys(deployment.spec)).not.toContain('replicas')
    expect(autoscaler.spec.minReplicas).toBeGreaterThanOrEqual(2)
    expect(budget.spec.maxUnavailable).toBe(1)
    // A walk in one of two pods must not start a third pod.
    const { averageUtilization } = autoscaler.spec.metrics[0]?.resource.target ?? {}
    expect(container.resources.requests['cpu']).toBe('1')
    expect(averageUtilization).toBeGreaterThan(((WALK_CORES + VISITORS_CORES * 2) / 2) * 100)
    expect(autoscaler.spec.behavior.scaleUp.stabilizationWindowSeconds).toBeGreaterThan(WALK_SECONDS)
    expect(deployment.spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
  })
})

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { findProgram } from '../includes/program.ts'
import { readStartOptions } from './dockerfile.ts'
import { type Image, bindFolder } from './image.ts'

/** A process in a container of the image. */
export type Container = Readonly<{
  /** Return the output on both streams so far. */
  output(): string
  ended: Promise<number | null>
  /** Send a signal to process 1 of the container. */
  sendSignal(signal: NodeJS.Signals): Promise<void>
}>

const START = readStartOptions()

/** Run `docker run --read-only --tmpfs /tmp IMAGE ARGS`. */
export function runContainer(
  image: Image,
  args: readonly string[],
  settings: Settings = {},
  user: string = START.user,
): Container {
  return start(image, [...START.entrypoint, ...(args.length === 0 ? START.command : args)], settings, user)
}

/** Run the health check of the image or another command, and return its result. */
export async function runInside(
  image: Image,
  command: readonly string[] = START.healthCheck,
  settings: Settings = {},
): Promise<Readonly<{ code: number | null; output: string }>> {
  const container = start(image, command, settings, START.user)
  const code = await container.ended
  return { code, output: container.output() }
}

/** Settings in addition to those of the image. */
type Settings = Readonly<Record<string, string>>

/**
 * Start process 1 of a new namespace as a user of the machine, without capabilities. Only `/data` and `/tmp` are writable.
 * The network is that of the machine.
 */
// oxlint-disable-next-line max-params -- as `docker run` does
function start(image: Image, command: readonly string[], settings: Settings, owner: string): Container {
  const [user = '', group = user] = owner.split(':')
  const privilegeArgs = [
    '--reuid',
    user,
    '--regid',
    group,
    '--clear-groups',
    '--inh-caps=-all',
    '--no-new-privs',
  ]
  const mountArgs = [...bindFolder(image.root, 'app', false), ...bindFolder(image.root, 'data', true)]
  const isolationArgs = ['--tmpfs', '/tmp', '--remount-ro', '/', '--chdir', '/data', '--cap-drop', 'ALL']
  const namespaceArgs = [
    '--unshare-user',
    '--unshare-pid',
    '--as-pid-1',
    '--unshare-ipc',
    '--die-with-parent',
  ]
  const bwrapArgs = [
    ...privilegeArgs,
    findProgram('bwrap') ?? 'bwrap',
    ...image.base,
    ...mountArgs,
    ...isolationArgs,
    ...namespaceArgs,
  ]
  const child = spawn(findProgram('setpriv') ?? '', [...bwrapArgs, '--info-fd', '3', ...command], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...START.environment, ...settings },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return toContainer(child)
}

function toContainer(child: ChildProcess): Container {
  let output = ''
  child.stdout?.on('data', (chunk) => (output += String(chunk)))
  child.stderr?.on('data', (chunk) => (output += String(chunk)))
  const info = text(child.stdio[3] as Readable)
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    output: () => output,
    ended,
    async sendSignal(signal) {
      const { 'child-pid': pid } = JSON.parse(await info) as { 'child-pid': number }
      process.kill(pid, signal)
    },
  }
}

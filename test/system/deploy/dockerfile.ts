import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Copy, DockerfileParser, type Env, type From, type Instruction } from 'dockerfile-ast'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

/** The text of the Dockerfile. */
export const DOCKERFILE: string = readFileSync(join(PACKAGE_FOLDER, 'Dockerfile'), 'utf8')

/** An instruction that changes the files of the image. */
export type Step =
  | Readonly<{ kind: 'workdir'; folder: string }>
  | Readonly<{
      kind: 'copy'
      from: string | null
      sources: readonly string[]
      target: string
      owner: string | null
    }>
  | Readonly<{ kind: 'run'; command: string }>

/** A build stage. */
export type Stage = Readonly<{ name: string | null; steps: readonly Step[] }>

/** How a container starts its process. */
export type StartOptions = Readonly<{
  user: string
  environment: Readonly<Record<string, string>>
  entrypoint: readonly string[]
  command: readonly string[]
  healthCheck: readonly string[]
}>

/** Instructions that change no file. */
const METADATA_INSTRUCTIONS = new Set([
  'ARG',
  'FROM',
  'LABEL',
  'USER',
  'ENV',
  'EXPOSE',
  'HEALTHCHECK',
  'ENTRYPOINT',
  'CMD',
])

const INSTRUCTIONS = DockerfileParser.parse(DOCKERFILE).getInstructions()

/** Return the stages in order. Throws at an unsupported instruction. */
export function readStages(): readonly Stage[] {
  const stages: { name: string | null; steps: Step[] }[] = []
  for (const instruction of INSTRUCTIONS) {
    if (instruction.getKeyword() === 'FROM')
      stages.push({ name: (instruction as From).getBuildStage(), steps: [] })
    const step = toStep(instruction)
    if (step !== null) stages.at(-1)?.steps.push(step)
  }
  return stages
}

/** Return how a container starts its process. */
export function readStartOptions(): StartOptions {
  const properties = (getLastInstruction('ENV') as Env).getProperties()
  const healthArgs = readArguments(getLastInstruction('HEALTHCHECK'))
  return {
    user: readArguments(getLastInstruction('USER')).join(' '),
    environment: Object.fromEntries(
      properties.map((property) => [property.getName(), property.getValue() ?? '']),
    ),
    entrypoint: parseJsonForm(readArguments(getLastInstruction('ENTRYPOINT'))),
    command: parseJsonForm(readArguments(getLastInstruction('CMD'))),
    healthCheck: parseJsonForm(healthArgs.slice(1)),
  }
}

function toStep(instruction: Instruction): Step | null {
  const keyword = instruction.getKeyword()
  const args = readArguments(instruction)
  if (keyword === 'WORKDIR') return { kind: 'workdir', folder: args.join(' ') }
  if (keyword === 'RUN') return { kind: 'run', command: args.join(' ') }
  if (keyword === 'COPY') {
    const [from, owner] = ['from', 'chown'].map((name) => findFlag(instruction as Copy, name))
    const [sources, target] = [args.slice(0, -1), args.at(-1) ?? '']
    return { kind: 'copy', from: from ?? null, owner: owner ?? null, sources, target }
  }
  if (!METADATA_INSTRUCTIONS.has(keyword)) throw new Error(`unsupported instruction: ${keyword}`)
  return null
}

function findFlag(instruction: Copy, name: string): string | null {
  return (
    instruction
      .getFlags()
      .find((flag) => flag.getName() === name)
      ?.getValue() ?? null
  )
}

function getLastInstruction(keyword: string): Instruction {
  const instruction = INSTRUCTIONS.findLast((instruction) => instruction.getKeyword() === keyword)
  if (instruction === undefined) throw new Error(`the Dockerfile has no ${keyword}`)
  return instruction
}

/** Return the arguments of an instruction without its flags, and with continuation lines joined. */
function readArguments(instruction: Instruction): string[] {
  return instruction.getArguments().map((word) => word.getValue())
}

/** Parse the exec form, which starts no shell. Throws at the shell form, which is not JSON. */
function parseJsonForm(args: readonly string[]): string[] {
  return JSON.parse(args.join(' ')) as string[]
}

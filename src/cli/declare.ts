import type { Command } from 'commander'
import type { CommandContext, ExitCode } from './command.ts'

/** Each command is loaded when it is run: `serve` starts without the others. */
export type Run = (context: CommandContext) => Promise<ExitCode>

/** Runs the one command of a command line; `isJson` is its `--json`. */
export type Runner = (isJson: boolean | undefined, command: Run) => Promise<void>

/** What every command has. */
export type JsonFlag = Readonly<{ json?: boolean }>

/** Adds `--json`. */
export function withJson(command: Command): Command {
  return command.option('--json', 'results as JSON')
}

/** One thing that can be done with a noun. */
export type Verb = Readonly<{
  /** Its name and its arguments: `add <name>`. */
  words: string
  /** Another name for the same. */
  alias?: string
  about: string
  /** Flags and what they are: `['--url <url>', 'its address']`. A flag that begins with `!` must be given. */
  options?: readonly (readonly [flags: string, about: string])[]
  /** Arguments after `vitrine catalog NOUN`, as somebody would type them. */
  examples?: readonly string[]
}>

/** What a noun is given: the verb as `action`, arguments by their names, options by theirs. */
export type Given = Readonly<{ action: string }>

/** Something that the owner of a catalog lists and changes. The first verb is what the noun does alone. */
export type Noun = Readonly<{
  name: string
  about: string
  verbs: readonly Verb[]
  run(context: CommandContext, given: Given): Promise<ExitCode>
}>

/** Declares a noun with its verbs, its help and its examples. */
export function declareNoun(parent: Command, noun: Noun, run: Runner): void {
  const command = parent.command(noun.name).description(noun.about)
  const path = `vitrine ${parent.name()} ${noun.name}`
  for (const [index, verb] of noun.verbs.entries()) {
    addExamples(declareVerb(command, { noun, verb, isDefault: index === 0 }, run), path, verb.examples ?? [])
  }
  command.hook('preSubcommand', refuseUnknownVerb)
  const first = noun.verbs[0]?.words ?? ''
  command.addHelpText('after', `\n"${noun.name}" alone is "${noun.name} ${first}"; all of them take --json.`)
  addExamples(
    command,
    path,
    noun.verbs.flatMap(({ examples }) => examples ?? []),
  )
}

/** Commander itself takes an unknown verb for an argument of the one that the noun does alone. */
function refuseUnknownVerb(noun: Command, verb: Command): void {
  const [typed] = noun.args
  if (typed === undefined || typed.startsWith('-')) return
  if (typed === verb.name() || verb.aliases().includes(typed)) return
  // What commander says of a noun without a verb to do alone, with what was meant; its types do not have it.
  ;(noun as Command & { unknownCommand(): void }).unknownCommand()
}

type Declared = Readonly<{ noun: Noun; verb: Verb; isDefault: boolean }>

function declareVerb(parent: Command, { noun, verb, isDefault }: Declared, run: Runner): Command {
  const command = parent.command(verb.words, { isDefault }).description(verb.about)
  if (verb.alias !== undefined) command.alias(verb.alias)
  for (const [flags, about] of verb.options ?? []) {
    if (flags.startsWith('!')) command.requiredOption(flags.slice(1), about)
    else command.option(flags, about)
  }
  withJson(command).action(() => {
    const named = command.registeredArguments.map((argument, index) => [argument.name(), command.args[index]])
    const { json, ...flags } = command.opts<JsonFlag>()
    const given = { ...flags, ...Object.fromEntries(named), action: command.name() }
    return run(json, (context) => noun.run(context, given))
  })
  return command
}

/** Command lines at the end of a command's help; `examples` are what follows `path`. */
export function addExamples(command: Command, path: string, examples: readonly string[]): void {
  if (examples.length === 0) return
  const lines = examples.map((example) => `  ${path} ${example}`.trimEnd())
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

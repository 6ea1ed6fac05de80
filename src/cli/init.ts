import { parseEnv } from 'node:util'
import { type Environment, collectSettings, parseConfig } from '../config/config.ts'
import { UsageError } from '../errors.ts'
import { VERSION } from '../lib/files.ts'
import { type CommandContext, print } from '../command.ts'
import type { Answers, Setup } from './init/answers.ts'
import { createEnvFile } from './init/env-file.ts'
import {
  FILE_NAMES,
  SYSTEM_NODE,
  SYSTEM_PREFIX,
  createFiles,
  findPermanentFolder,
  isPermanent,
  listExisting,
  readPresentEnv,
  writeFiles,
} from './init/files.ts'
import {
  type Ask,
  askByPrompt,
  askNothing,
  askSettings,
  askSetup,
  askToReplace,
  toShownUrl,
} from './init/questions.ts'

export type InitOptions = Readonly<{ yes?: boolean; setup?: Setup }>

/** `folder`: where the files are written. */
type InitContext = Pick<CommandContext, 'io' | 'isJson'> &
  Readonly<{ environment: Environment; folder: string }>

/**
 * Ask for settings, and write `.env` and the files of a setup. Settings of the environment and of a present `.env` are kept.
 * @throws UsageError, and ConfigError for an invalid setting that is not asked for; `.env` is then unchanged.
 */
export async function runInit(context: InitContext, options: InitOptions): Promise<void> {
  const { io } = context
  if (options.yes === true) return initFolder(context, askNothing, options)
  const prompt = io.openPrompt()
  try {
    io.err('This writes settings into the current folder. An empty line accepts the answer in brackets.')
    await initFolder(context, askByPrompt(prompt, io), options)
  } finally {
    prompt.close()
  }
}

async function initFolder(context: InitContext, ask: Ask, options: InitOptions): Promise<void> {
  const { environment, folder } = context
  const setup = options.setup ?? (await askSetup(ask))
  const existing = listExisting(folder, FILE_NAMES[setup])
  // The default answer is no.
  if (existing.length > 0 && !(await askToReplace(ask, existing)))
    throw new UsageError(
      `${existing.join(', ')} already in this folder; nothing was written. Move what you need away, and start again`,
    )
  const present = readPresentEnv(folder)
  const settings = Object.fromEntries([...Object.entries(parseEnv(present)), ...collectSettings(environment)])
  const answers = await askSettings(ask, setup, settings)
  const { text, kept } = createEnvFile(answers, present, settings)
  parseConfig(parseEnv(text))
  const files = createFiles(setup, text)
  writeFiles(folder, files, existing)
  const names = files.map(({ name }) => name)
  const next = listNextSteps(answers, settings)
  print(context, { setup, files: names, kept, next }, [
    ...(kept.length === 0 ? [] : [`Kept from .env and the environment: ${kept.join(', ')}.`]),
    `Wrote ${names.join(', ')}. Next:`,
    ...next.map((step, index) => `  ${index + 1}. ${step}`),
  ])
}

function listNextSteps(answers: Answers, settings: Environment): readonly string[] {
  if (answers.setup === 'systemd') return listSystemdSteps()
  const isCompose = answers.setup === 'compose'
  const [first, second] = isCompose
    ? ['docker compose up --detach --wait', 'docker compose run --rm --no-deps vitrine-a check']
    : ['npx vitrine check', 'npx vitrine serve']
  const studio = `Open ${toShownUrl(answers, settings)}/studio: user admin, password VITRINE_ADMIN_PASSWORD in .env`
  return [first, second, studio]
}

/** Steps for root. */
export function listSystemdSteps(node: string = process.execPath): readonly string[] {
  const install = `npm install --prefix ${SYSTEM_PREFIX} vitrine@${VERSION} && `
  return [
    ...(isPermanent(node) ? [] : [`Install Node as ${SYSTEM_NODE}: the service cannot read ${node}`]),
    `${findPermanentFolder() === null ? install : ''}useradd --system --home-dir /var/lib/vitrine vitrine`,
    'install -D -m 600 .env /etc/vitrine/vitrine.env && install -m 644 vitrine.service /etc/systemd/system/',
    'systemctl daemon-reload && systemctl enable --now vitrine && journalctl -u vitrine -n 20',
  ]
}

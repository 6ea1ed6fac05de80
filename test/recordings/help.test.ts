// Records the help of every command. A difference is a change for operators: commands, arguments, options, words.
import { expect, test } from 'vitest'
import { runInProcess } from '../cli/run-cli.ts'

/** Return the help of a command and of all commands below it. */
async function readHelp(path: readonly string[]): Promise<string> {
  const { code, out, err } = await runInProcess([...path, '--help'])
  expect([code, err]).toEqual([0, ''])
  const commands = out.split(/\nExamples:/)[0]?.split(/\nCommands:\n/)[1] ?? ''
  const names = [...commands.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = '']) => name)
  const texts = [`$ ${['vitrine', ...path, '--help'].join(' ')}\n\n${out.trimEnd()}\n`]
  for (const name of names) if (name !== 'help') texts.push(await readHelp([...path, name]))
  return texts.join('\n')
}

test('help of every command - is as recorded', async () => {
  await expect(await readHelp([])).toMatchFileSnapshot('help.txt')
})

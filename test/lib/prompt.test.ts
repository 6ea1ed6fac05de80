import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPrompt } from '../../src/lib/prompt.ts'
import { UsageError } from '../../src/errors.ts'

/** Open a prompt with streams of a pipe or a terminal. `close` ends it, and returns what was printed. */
function createPrompt({ isTTY = false }: Readonly<{ isTTY?: boolean }> = {}) {
  const input = Object.assign(new PassThrough(), { isTTY })
  const output = new PassThrough()
  const stop = new AbortController()
  const interrupts: number[] = []
  const onInterrupt = (): void => void interrupts.push(1)
  const prompt = openPrompt({ input, output, signal: stop.signal, onInterrupt })
  onTestFinished(() => prompt.close())
  const close = async (): Promise<string> => {
    prompt.close()
    output.end()
    return text(output)
  }
  return { prompt, input, stop, interrupts, close }
}

describe('openPrompt', () => {
  it('a pipe that sends all lines at once - one line for each question, questions on separate lines', async () => {
    const { prompt, input, close } = createPrompt()
    input.end('one\n  two \nthree')
    expect([await prompt.ask('a? '), await prompt.ask('b? ', 'secret'), await prompt.ask('c? ')]).toEqual([
      'one',
      'two',
      'three',
    ])
    await expect(prompt.ask('d? ')).rejects.toThrow(
      /the input ended before the last question; nothing was written/,
    )
    expect(await close()).toBe('a? \nb? \nc? \nd? \n')
  })

  it('a terminal - shows what is typed, but no secret', async () => {
    const { prompt, input, close } = createPrompt({ isTTY: true })
    const first = prompt.ask('name? ')
    input.write('visible\r')
    expect(await first).toBe('visible')
    const second = prompt.ask('key? ', 'secret')
    input.write('hunter2\r')
    expect(await second).toBe('hunter2')
    const third = prompt.ask('more? ')
    // Arrow up: no line of before.
    input.write('\u001b[A\r')
    expect(await third).toBe('')
    const output = await close()
    expect(output).toContain('key? ')
    expect(output).toContain('visible')
    expect(output).not.toContain('hunter2')
  })

  it('a terminal that gets all lines in one write, before their questions - shows no secret', async () => {
    const { prompt, input, close } = createPrompt({ isTTY: true })
    const first = prompt.ask('name? ')
    input.write('visible\rhunter2\rplain\rhunter3')
    expect(await first).toBe('visible')
    expect(await prompt.ask('key? ', 'secret')).toBe('hunter2')
    expect(await prompt.ask('more? ')).toBe('plain')
    const last = prompt.ask('key? ', 'secret')
    input.write('4\r')
    expect(await last).toBe('hunter34')
    const output = await close()
    expect(output).toContain('visible')
    expect(output).not.toContain('hunter')
    expect(output).toMatch(/key\? \nmore\? \nkey\? \n$/)
  })

  it('Ctrl-C on a terminal - asks the process to stop', async () => {
    const { prompt, input, interrupts, stop } = createPrompt({ isTTY: true })
    const answer = prompt.ask('name? ')
    input.write('\u0003')
    await expect.poll(() => interrupts).toHaveLength(1)
    stop.abort('SIGINT')
    await expect(answer).rejects.toThrow(new UsageError('stopped; nothing was written'))
  })
})

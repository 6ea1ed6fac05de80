import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { UsageError } from '../errors.ts'

export type Prompt = Readonly<{
  /**
   * Print a question, and return the next line of the input without white space at its ends. On a terminal, the answer to a
   * `secret` question is not shown. @throws UsageError at the end of the input, and when the process has to stop.
   */
  ask(question: string, kind?: 'plain' | 'secret'): Promise<string>
  close(): void
}>

export type PromptStreams = Readonly<{
  input: NodeJS.ReadableStream & { isTTY?: boolean }
  /** Gets the questions, and on a terminal what is typed. */
  output: NodeJS.WritableStream
  /** Aborts when the process has to stop. */
  signal: AbortSignal
  /** Called for Ctrl-C, which a terminal sends as a character while it waits for a line. */
  onInterrupt(): void
}>

/** Read answers line by line, from a terminal or from another program. */
export function openPrompt({ input, output, signal, onInterrupt }: PromptStreams): Prompt {
  const isTerminal = input.isTTY === true
  // Lines can arrive before their questions, also those for secrets: only a plain question that waits shows what is typed.
  let isMuted = isTerminal
  let isLineEndShown = false
  let linesAhead = 0
  const echo = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isMuted) output.write(chunk)
      done()
    },
  })
  // Without history, the terminal's arrow keys do not bring back a secret.
  const reader = createInterface({ input, output: echo, terminal: isTerminal, historySize: 0 })
  const lines = reader[Symbol.asyncIterator]()
  const close = (): void => reader.close()
  reader.on('SIGINT', onInterrupt)
  // Called before the reader looks at the next character of the same input.
  reader.on('line', () => {
    linesAhead += 1
    isLineEndShown = isTerminal && !isMuted
    isMuted = isTerminal
  })
  signal.addEventListener('abort', close, { once: true })
  return {
    async ask(question, kind = 'plain') {
      isMuted = isTerminal && (kind === 'secret' || linesAhead > 0)
      isLineEndShown = false
      if (isMuted) output.write(question)
      else {
        reader.setPrompt(question)
        reader.prompt(true)
      }
      const line = await lines.next()
      if (!isLineEndShown) output.write('\n')
      if (signal.aborted) throw new UsageError('stopped; nothing was written')
      if (line.done === true)
        throw new UsageError(
          'the input ended before the last question; nothing was written. Answer all questions, or use --yes',
        )
      linesAhead -= 1
      return line.value.trim()
    },
    close() {
      signal.removeEventListener('abort', close)
      reader.close()
    },
  }
}

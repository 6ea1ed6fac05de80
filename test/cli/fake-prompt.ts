import type { Prompt } from '../../src/lib/prompt.ts'
import { UsageError } from '../../src/errors.ts'

/** A prompt that gives answers in order, and keeps the questions. */
export function createFakePrompt(
  answers: readonly string[],
): Prompt & { questions: string[]; secrets: string[] } {
  const rest = [...answers]
  const [questions, secrets]: [string[], string[]] = [[], []]
  return {
    questions,
    secrets,
    async ask(question, kind) {
      ;(kind === 'secret' ? secrets : questions).push(question)
      const answer = rest.shift()
      if (answer === undefined) throw new UsageError('the input ended')
      return answer
    },
    close: () => undefined,
  }
}

import { expect, onTestFinished, test, vi } from 'vitest'
import { getVitrineBox } from '../integrations/nextjs/vitrine.ts'

// `URL.canParse` of Node rejects such hosts once it has been optimized.
test('Next.js, server with a non-ASCII host - the box is shown at every visit', async () => {
  const fetched = vi
    .spyOn(globalThis, 'fetch')
    .mockImplementation(() => Promise.resolve(new Response('<p>box</p>')))
  onTestFinished(() => fetched.mockRestore())
  const seen = new Set<string>()
  for (let visits = 0; visits < 100_000; visits += 1)
    seen.add(await getVitrineBox('https://preise.münchen.example/fragments/1/deals'))
  expect(seen).toEqual(new Set(['<p>box</p>']))
})

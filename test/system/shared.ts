/** Where the things are that files share. */
export const SHARED_THINGS = 'TEST_SHARED_URL'

/** Asks for a thing that all files share. @throws Error when it could not be made. */
export async function getShared<T>(name: string): Promise<T> {
  // oxlint-disable-next-line node/no-process-env -- where the tests find it, not a setting of the program
  const url = process.env[SHARED_THINGS]
  if (url === undefined) throw new Error(`${SHARED_THINGS} is not set: only system tests share things`)
  const answer = await fetch(`${url}/${name}`)
  if (!answer.ok) throw new Error(`no shared ${name}: ${await answer.text()}`)
  return (await answer.json()) as T
}

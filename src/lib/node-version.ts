/**
 * Return what is wrong with a version of Node, as a message; `null` if it is new enough.
 * `engines`: as in package.json, such as `>=20.19`.
 */
export function findNodeProblem(version: string, engines: string): string | null {
  const needed = engines.replace('>=', '')
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = needed.split('.').map(Number)
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return null
  return `vitrine: Node ${version} is too old; install version ${needed} or later from https://nodejs.org`
}

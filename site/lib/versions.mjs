import { readdir } from 'node:fs/promises'

/** Return the versions in the output folder and the one that is being built, newest first. */
export async function listVersions(outFolder, version) {
  const present = await readdir(outFolder).catch(() => [])
  const versions = new Set([version, ...present.filter((name) => /^\d+\.\d+$/.test(name))])
  return [...versions].toSorted((a, b) => compareVersions(b, a))
}

function compareVersions(a, b) {
  const [aMajor = 0, aMinor = 0] = a.split('.').map(Number)
  const [bMajor = 0, bMinor = 0] = b.split('.').map(Number)
  return aMajor - bMajor || aMinor - bMinor
}

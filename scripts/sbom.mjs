/**
 * `node scripts/sbom.mjs`, after a build: print the bill of materials of the server as CycloneDX, with the packages that
 * npm installs and those in the bundled files. `npm sbom --omit dev` lacks all that a development package also uses.
 */
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const root = new URL('..', import.meta.url)
const { name, dependencies, optionalDependencies } = JSON.parse(
  await readFile(new URL('package.json', root), 'utf8'),
)
const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx']
const sbom = JSON.parse(
  execFileSync('npm', args, { cwd: fileURLToPath(root), encoding: 'utf8', maxBuffer: 2 ** 26 }),
)
const graph = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
const { component } = sbom.metadata

/** Headings such as "zod 4.6.7 (MIT)". */
const licences = await readFile(new URL('dist/packages/LICENSES.txt', root), 'utf8')
const bundled = new Set(
  [...licences.matchAll(/(?:^|-{80}\n\n)(\S+) (\S+) \(.+\)$/gm)].map(
    ([, packageName, version]) => `${packageName}@${version}`,
  ),
)
for (const ref of bundled) if (!graph.has(ref)) throw new Error(`package-lock.json has no ${ref}`)

const direct = Object.entries(Object.assign(dependencies, optionalDependencies)).map(
  ([dependency, version]) => `${dependency}@${version}`,
)
const listed = new Set(direct)
// A set also iterates over what is added meanwhile.
for (const ref of listed) for (const dependency of graph.get(ref)) listed.add(dependency)
for (const ref of bundled) listed.add(ref)

graph.set(component['bom-ref'], [...new Set([...direct, ...bundled])])
// npm writes the name of the folder.
component.name = name
sbom.components = sbom.components.filter((part) => listed.has(part['bom-ref']))
for (const part of sbom.components.filter((one) => bundled.has(one['bom-ref']))) {
  // npm marks it as optional and for development.
  part.scope = 'required'
  part.properties = []
}
sbom.dependencies = [component['bom-ref'], ...listed].map((ref) => ({
  ref,
  dependsOn: graph.get(ref).filter((dependency) => listed.has(dependency)),
}))
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`)

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

/** Manifests of Kubernetes, from the top of the repository. */
export const MANIFESTS: readonly string[] = readdirSync(join(PACKAGE_FOLDER, 'deploy/kubernetes'))
  .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  .map((name) => `deploy/kubernetes/${name}`)

/** Where kubernetes-types has the types of each version of an interface. */
const MODULES: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'policy/v1': 'policy/v1',
}

/** The one document of a file of the repository. Throws at whatever is no YAML, and at names given twice. */
export function readYaml(path: string): unknown {
  const documents = parseAllDocuments(readFileSync(join(PACKAGE_FOLDER, path), 'utf8'), { merge: true })
  const fault = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])[0]
  if (documents.length !== 1 || fault !== undefined)
    throw new Error(`${path}: ${documents.length} documents`, { cause: fault })
  return documents[0]?.toJS()
}

/**
 * What the compiler says of objects as those of Kubernetes' own interface: fields that there are not, texts in place of numbers,
 * fields that are missing. Empty when all is well.
 */
export async function checkTypes(objects: readonly unknown[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-manifests-'))
  try {
    symlinkSync(join(PACKAGE_FOLDER, 'node_modules'), join(folder, 'node_modules'))
    const lines = (objects as { apiVersion: string; kind: string }[]).map(
      (object, index) =>
        `import type { ${object.kind} as K${index} } from 'kubernetes-types/${MODULES[object.apiVersion] ?? object.apiVersion}'\n` +
        `export const object${index}: Required<Pick<K${index}, 'apiVersion' | 'kind' | 'metadata'>> & K${index} = ${JSON.stringify(object)}\n`,
    )
    writeFileSync(join(folder, 'objects.ts'), lines.join(''))
    const tsc = join(PACKAGE_FOLDER, 'node_modules/typescript/bin/tsc')
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', '--pretty', 'false']
    await promisify(execFile)(process.execPath, [tsc, ...options, '--types', '', 'objects.ts'], {
      cwd: folder,
    })
    return ''
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

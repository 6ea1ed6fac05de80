import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

/** Paths of the Kubernetes manifests, relative to the repository. */
export const MANIFESTS: readonly string[] = readdirSync(join(PACKAGE_FOLDER, 'deploy/kubernetes'))
  .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  .map((name) => `deploy/kubernetes/${name}`)

/** Modules of kubernetes-types by API version. */
const MODULES: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
  'policy/v1': 'policy/v1',
}

/** Parse a YAML file of the repository. Throws at syntax errors, duplicate keys, and more than one document. */
export function readYaml(path: string): unknown {
  const documents = parseAllDocuments(readFileSync(join(PACKAGE_FOLDER, path), 'utf8'), { merge: true })
  const problem = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])[0]
  if (documents.length !== 1 || problem !== undefined)
    throw new Error(`${path}: ${documents.length} documents`, { cause: problem })
  return documents[0]?.toJS()
}

/**
 * Check objects against the types of the Kubernetes API: unknown fields, missing fields and values of the wrong type.
 * Return the errors of the compiler; empty if there are none.
 */
export async function checkTypes(objects: readonly unknown[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-manifests-'))
  try {
    symlinkSync(join(PACKAGE_FOLDER, 'test/system/node_modules'), join(folder, 'node_modules'))
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

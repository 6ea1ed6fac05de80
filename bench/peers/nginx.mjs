import { mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../lib/processes.mjs'
import { findProgram } from '../lib/tools.mjs'

/**
 * nginx with one worker that sends the body from a file, with the same headers where nginx lets one choose.
 * @param {import('../lib/run.mjs').Run} run
 * @param {{ headers: Record<string, string>, bytes: Buffer }} answer
 */
export async function startNginxStatic(run, { headers, bytes }) {
  const files = join(run.folder, 'nginx-static-files')
  mkdirSync(files, { recursive: true })
  writeFileSync(join(files, 'box'), bytes)
  const own = new Set(['content-type', 'content-length', 'etag'])
  const lines = Object.entries(headers)
    .filter(([name]) => !own.has(name))
    .map(([name, value]) => `add_header ${name} "${value.replaceAll(/["\\$]/g, String.raw`\$&`)}";`)
  const inside = [`root ${files}; default_type "text/html"; open_file_cache max=100;`, ...lines]
  return startNginx(run, { name: 'nginx-static', inside, outside: '' })
}

/**
 * nginx with one worker that caches what Vitrine sends.
 * @param {import('../lib/run.mjs').Run} run
 * @param {string} origin of Vitrine
 */
export async function startNginxCache(run, origin) {
  const folder = join(run.folder, 'nginx-cache-files')
  const outside = `proxy_cache_path ${folder} keys_zone=boxes:10m max_size=100m;`
  const inside = [
    `location / { proxy_pass ${origin}; proxy_cache boxes; proxy_http_version 1.1; proxy_set_header Connection ""; }`,
  ]
  return startNginx(run, { name: 'nginx-cache', inside, outside })
}

async function startNginx(run, { name, inside, outside }) {
  const command = findProgram('nginx')
  if (command === null) return null
  const folder = join(run.folder, name)
  mkdirSync(folder, { recursive: true })
  const port = await findFreePort()
  // Started by root, nginx would give its worker another user, who may not read here.
  const user = userInfo().uid === 0 ? 'user root;' : ''
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(' ')
  const config = `${user} daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000; ${paths}
  ${outside}
  server { listen 127.0.0.1:${port}; ${inside.join('\n')} }
}
`
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, config)
  const parameters = ['-p', folder, '-e', 'stderr', '-c', file]
  const child = run.processes.start({ command, parameters, cpus: run.cpus.server, output: 'ignore' })
  return { child, origin: `http://127.0.0.1:${port}` }
}

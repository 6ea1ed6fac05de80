import { readFile, writeFile } from 'node:fs/promises'
import { render } from './dist/server/server.js'

const page = new URL('dist/client/index.html', import.meta.url)
await writeFile(page, (await readFile(page, 'utf8')).replace('<!--app-->', await render()))

/** Print the address of each loaded module to standard error: `node --import` this file. */
import { register } from 'node:module'

const hooks = `export async function load(url, context, next) {
  process.stderr.write('loaded ' + url + '\\n')
  return next(url, context)
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)

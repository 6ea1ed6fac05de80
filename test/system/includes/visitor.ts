import type { ProxiedRequest } from './fault-proxy.ts'

/** What a browser and its user send along. None of it may reach the server, nor change a box. */
export const VISITOR_HEADERS: Readonly<Record<string, string>> = {
  'accept-encoding': 'gzip, br',
  authorization: 'Basic dmlzaXRvcjpzZWNyZXQ=',
  cookie: 'visitor=secret',
  'if-none-match': '"visitor"',
  range: 'bytes=0-2000000',
  referer: 'http://127.0.0.1/visitor',
  'x-forwarded-for': '192.0.2.77',
}

/** Headers of a request that are a visitor's own. */
export function findVisitorHeaders({ headers }: ProxiedRequest): readonly string[] {
  return Object.entries(VISITOR_HEADERS)
    .filter(([name, value]) => isForwarded(name, value, String(headers[name] ?? '')))
    .map(([name]) => name)
}

/** A proxy may add to a list, and shorten what a visitor accepts. */
function isForwarded(name: string, value: string, arrived: string): boolean {
  return name === 'accept-encoding' ? /gzip|br/.test(arrived) : arrived.includes(value)
}

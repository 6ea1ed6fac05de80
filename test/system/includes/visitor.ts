import type { ProxiedRequest } from './fault-proxy.ts'

/** Headers of a browser and its user. They must not reach the server or change a box. */
export const VISITOR_HEADERS: Readonly<Record<string, string>> = {
  'accept-encoding': 'gzip, br',
  authorization: 'Basic dmlzaXRvcjpzZWNyZXQ=',
  cookie: 'visitor=secret',
  'if-none-match': '"visitor"',
  range: 'bytes=0-2000000',
  referer: 'http://127.0.0.1/visitor',
  'x-forwarded-for': '192.0.2.77',
}

/** List the names of visitor headers in a request. */
export function findVisitorHeaders({ headers }: ProxiedRequest): readonly string[] {
  return Object.entries(VISITOR_HEADERS)
    .filter(([name, value]) => isForwarded(name, value, String(headers[name] ?? '')))
    .map(([name]) => name)
}

/** A proxy may append to a header and reduce accept-encoding. */
function isForwarded(name: string, value: string, arrived: string): boolean {
  return name === 'accept-encoding' ? /gzip|br/.test(arrived) : arrived.includes(value)
}

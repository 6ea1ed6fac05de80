import type { Site } from './site.ts'

export type VisitedPage = Readonly<{ status: number; html: string; headers: Headers; seconds: number }>

/** A visitor with its own cookies. */
export type Visitor = Readonly<{
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<VisitedPage>
  post(path: string, fields: Readonly<Record<string, string>>): Promise<VisitedPage>
  /** Call the REST API as the editor's scripts do. */
  rest(route: string, body?: unknown): Promise<Readonly<{ status: number; json: unknown }>>
}>

type RequestDetails = Readonly<{
  method?: string
  body?: string | URLSearchParams
  headers?: Readonly<Record<string, string>>
}>

/** Create a visitor; sign in as the user of `role` if it is given. */
export async function signInAs(site: Site, role?: string): Promise<Visitor> {
  const cookies = new Map<string, string>()
  const send = async (path: string, request: RequestDetails = {}): Promise<VisitedPage> => {
    const begun = performance.now()
    const response = await fetch(site.origin + path, {
      redirect: 'manual',
      ...request,
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...request.headers,
      },
    })
    const html = await response.text()
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    return {
      status: response.status,
      html,
      headers: response.headers,
      seconds: (performance.now() - begun) / 1000,
    }
  }
  const visitor: Visitor = {
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, fields) => send(path, { method: 'POST', body: new URLSearchParams(fields) }),
    async rest(route, body) {
      const nonce = role === undefined ? '' : (await send('/wp-admin/admin-ajax.php?action=rest-nonce')).html
      const headers = { 'content-type': 'application/json', ...(nonce === '' ? {} : { 'x-wp-nonce': nonce }) }
      const request =
        body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) }
      const { status, html } = await send(`/index.php?rest_route=${encodeURIComponent(route)}`, request)
      return { status, json: JSON.parse(html) as unknown }
    },
  }
  if (role !== undefined) await signIn(visitor, role)
  return visitor
}

async function signIn(visitor: Visitor, role: string): Promise<void> {
  const { status } = await visitor.post('/wp-login.php', { log: role, pwd: role })
  if (status !== 302) throw new Error(`${role} cannot sign in: ${status}`)
}

/** Return the content between the markers of the theme. Throws if the page is incomplete or has PHP errors. */
export function readContent({ html }: VisitedPage): string {
  const found = /HOST-HEAD[\s\S]*?BOX\(([\s\S]*)\)BOX[\s\S]*HOST-FOOT[\s\S]*<\/html>\s*$/.exec(html)
  if (found === null) throw new Error(`the page is incomplete:\n${html}`)
  if (/<b>(?:Warning|Notice|Deprecated|Fatal error)<\/b>/.test(html)) throw new Error(html)
  return found[1] ?? ''
}

/** Return the visible text of the content. */
export function readVisibleText(page: VisitedPage): string {
  return readContent(page)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

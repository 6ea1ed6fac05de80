import type { Site } from './site.ts'

/** A page as a visitor has it. */
export type VisitedPage = Readonly<{ status: number; html: string; headers: Headers; seconds: number }>

/** A visitor with cookies of their own. */
export type Visitor = Readonly<{
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<VisitedPage>
  post(path: string, fields: Readonly<Record<string, string>>): Promise<VisitedPage>
  /** Calls the REST interface as the editor's scripts do. */
  rest(route: string, body?: unknown): Promise<Readonly<{ status: number; json: unknown }>>
}>

type RequestDetails = Readonly<{
  method?: string
  body?: string | URLSearchParams
  headers?: Readonly<Record<string, string>>
}>

/** Comes to a site, and signs in with a role's name if one is given. */
export async function signInAs(site: Site, role?: string): Promise<Visitor> {
  const cookies = new Map<string, string>()
  const send = async (path: string, request: RequestDetails = {}): Promise<VisitedPage> => {
    const begun = performance.now()
    const answer = await fetch(site.origin + path, {
      redirect: 'manual',
      ...request,
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...request.headers,
      },
    })
    const html = await answer.text()
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    return {
      status: answer.status,
      html,
      headers: answer.headers,
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

/** What stands in the place of the content, as the theme frames it. The page around it has to be whole. */
export function readContent({ html }: VisitedPage): string {
  const found = /HOST-HEAD[\s\S]*?BOX\(([\s\S]*)\)BOX[\s\S]*HOST-FOOT[\s\S]*<\/html>\s*$/.exec(html)
  if (found === null) throw new Error(`the page is not whole:\n${html}`)
  if (/<b>(?:Warning|Notice|Deprecated|Fatal error)<\/b>/.test(html)) throw new Error(html)
  return found[1] ?? ''
}

/** What a reader sees of it. */
export function readVisibleText(page: VisitedPage): string {
  return readContent(page)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

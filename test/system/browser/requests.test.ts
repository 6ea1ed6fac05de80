import { expect, test } from 'vitest'
import { loadPictures } from '../../helpers/pictures.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

const server = useServer()
const browser = useBrowser()

test.each(['box', 'grid'] as const)(
  '%s in a frame - requests only style, script and pictures',
  async (kind) => {
    const page = await browser.newPage()
    const requests: string[] = []
    page.on('request', (request) =>
      requests.push(`${request.resourceType()} ${new URL(request.url()).pathname}`),
    )
    await page.goto(server.addresses[kind])
    await loadPictures(page)
    const kinds = requests.map((request) => request.split(' ')[0])
    // The browser requests a favicon only for a top-level page, not for a frame.
    const known = requests.filter((request) => !request.endsWith('/favicon.ico'))
    expect(known.filter((request) => !/^(?:document|stylesheet|script|image) /.test(request))).toEqual([])
    expect(known.filter((request) => request.startsWith('stylesheet'))).toHaveLength(1)
    expect(known.filter((request) => request.startsWith('script'))).toHaveLength(1)
    expect(kinds).toContain('image')
  },
)

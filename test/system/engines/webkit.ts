import { getShared } from '../shared.ts'
import type { Engine, EnginePage, Key, Viewport } from './engine.ts'

/** Codes of keys in WebDriver. */
const KEYS: Readonly<Record<Key, string>> = { Tab: '\uE004', Enter: '\uE007', Space: ' ' }

/** Name of an element reference in WebDriver. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'

/**
 * The pointer of the virtual screen rests at its centre. Without a window manager, the window under it has the keyboard focus. So
 * the toolbar of the browser, which is higher than this, is kept there.
 */
const POINTER_OFFSET_PX = 10

/** Only this machine is reachable: other host names go to a proxy that does not exist. */
const NO_PROXY = {
  proxyType: 'manual',
  httpProxy: '127.0.0.1:9',
  sslProxy: '127.0.0.1:9',
  noProxy: ['127.0.0.1'],
}

type Send = <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) => Promise<T>

/** Start a browser of the shared WebKitWebDriver. The driver starts one at a time. */
export async function connectWebkit(): Promise<Engine> {
  const { driverUrl, screen } = await getShared('webkit')
  const sessionId = await startSession(driverUrl)
  const call: Send = (method, path, body) => send(driverUrl, method, `/session/${sessionId}${path}`, body)
  const page = toEnginePage(call, screen)
  return {
    async open(viewport) {
      await page.resize(viewport)
      return page
    },
    disconnect: () => call('DELETE', ''),
  }
}

async function startSession(driverUrl: string): Promise<string> {
  const capabilities = { alwaysMatch: { proxy: NO_PROXY } }
  const { sessionId } = await send<{ sessionId: string }>(driverUrl, 'POST', '/session', { capabilities })
  return sessionId
}

/** Send a WebDriver command. @throws Error with the name and message of a WebDriver error */
async function send<T>(driverUrl: string, method: string, path: string, body?: unknown): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) }
  const { value } = (await (await fetch(`${driverUrl}${path}`, init)).json()) as { value: unknown }
  if (typeof value === 'object' && value !== null && 'error' in value && 'message' in value)
    throw new Error(`${String(value.error)}: ${String(value.message)}`)
  return value as T
}

function toEnginePage(call: Send, screen: Viewport): EnginePage {
  const run = <T>(script: string): Promise<T> => call('POST', '/execute/sync', { script, args: [] })
  const findElement = async (selector: string): Promise<string> => {
    const element = { using: 'css selector', value: selector }
    return (await call<{ [ELEMENT]: string }>('POST', '/element', element))[ELEMENT]
  }
  const inFrame = async <T>(frame: string | undefined, action: () => Promise<T>): Promise<T> => {
    if (frame === undefined) return action()
    await call('POST', '/frame', { id: { [ELEMENT]: await findElement(frame) } })
    try {
      return await action()
    } finally {
      await call('POST', '/frame/parent', {})
    }
  }
  return {
    goto: (url) => call('POST', '/url', { url }),
    evaluate: (expression, frame) => inFrame(frame, () => run(`return (${expression}\n)`)),
    async resize({ width, height }) {
      const position = { x: Math.floor((screen.width - width) / 2), y: screen.height / 2 - POINTER_OFFSET_PX }
      const toolbarPx = await run<number>('return outerHeight - innerHeight')
      await call('POST', '/window/rect', { ...position, width, height: height + toolbarPx })
      // The page is resized after the window.
      await run(`return new Promise((done) => {
        const check = () => innerWidth === ${width} && innerHeight === ${height} ? done() : requestAnimationFrame(check)
        check()
      })`)
    },
    press: (key) =>
      call('POST', '/actions', {
        actions: [
          {
            type: 'key',
            id: 'keyboard',
            actions: ['keyDown', 'keyUp'].map((type) => ({ type, value: KEYS[key] })),
          },
        ],
      }),
    click: (selector, frame) =>
      inFrame(frame, async () => call('POST', `/element/${await findElement(selector)}/click`, {})),
    async close() {
      const own = await call<string>('GET', '/window')
      // The tabs that links have opened.
      for (const handle of await call<string[]>('GET', '/window/handles')) {
        if (handle === own) continue
        await call('POST', '/window', { handle })
        await call('DELETE', '/window')
      }
      await call('POST', '/window', { handle: own })
      await call('POST', '/url', { url: 'about:blank' })
    },
  }
}

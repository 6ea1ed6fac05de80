import type { ReadAttribute } from './address.ts'
import { dispatchClick } from './click-event.ts'
import { type FrameMessage, PROTOCOL_VERSION } from './messages.ts'

/** Maximum height, so that no frame can make a page unusable. */
const MAX_HEIGHT_PX = 10_000

/** Style of a closed frame: even a block without height would prevent margins around the element from collapsing. */
const CLOSED = 'float:left;height:0;visibility:hidden'

/** How long a loaded frame may send nothing before its reserved space is released. */
const SILENCE_MS = 4_000

/** How long a frame in view may send nothing: Firefox and Safari report no load event if the server is down. */
const LOAD_TIMEOUT_MS = 15_000

export type MountOptions = Readonly<{
  read: ReadAttribute
  /** Height of the frame before, which is kept until this one has one. */
  keptPx: number
  /** Called when the frame is shown, or hidden without a height, but not if the server is silent. */
  onAnswer?: ((heightPx?: number) => void) | undefined
}>

export type MountedFrame = Readonly<{ frame: HTMLIFrameElement; remove(): void }>

/** Append the frame of a widget to an element, reserve its height, and follow its messages. */
export function mount(
  element: HTMLElement,
  address: string,
  { read, keptPx, onAnswer }: MountOptions,
): MountedFrame {
  const frame = createFrame(address, read)
  const reservedPx = Number(read('height')) || 0
  const { origin } = new URL(address)
  let timer = 0
  /** The window that has answered; a frame that is moved in the document gets another one. */
  let answered: MessageEventSource | null = null

  const startPx = Math.max(reservedPx, keptPx)
  if (startPx) element.style.minHeight = `${startPx}px`

  /** `undefined`: close the frame. */
  const show = (heightPx?: number): void => {
    clearTimeout(timer)
    // The page may have reserved the space before this script ran; now the frame reserves it.
    element.style.minHeight = '0px'
    // Keep the reserved height: a lower box must not shift the page.
    frame.style.cssText +=
      heightPx === undefined
        ? CLOSED
        : `float:none;height:${Math.max(heightPx, reservedPx)}px;visibility:visible`
  }
  const listen = ({ source, origin: from, data }: MessageEvent<FrameMessage | null>): void => {
    if (source !== frame.contentWindow || from !== origin || data?.vitrine !== PROTOCOL_VERSION) return
    const { type } = data
    const heightPx = toHeightPx(data)
    if (type === 'ready') greet(frame, data.title, source === answered)
    if (type === 'click') dispatchClick(element, data)
    if (type === 'hidden' || heightPx !== undefined) {
      show(heightPx)
      answered = source
      onAnswer?.(heightPx)
    }
  }

  const startTimer = (timeoutMs: number): void => {
    clearTimeout(timer)
    if (frame.style.visibility === 'hidden') timer = setTimeout(show, timeoutMs)
  }
  const observer = new IntersectionObserver((entries) => {
    if (!entries.pop()?.isIntersecting) return
    observer.disconnect()
    if (!timer) startTimer(LOAD_TIMEOUT_MS)
  })

  addEventListener('message', listen)
  // The frame sends messages before its load event; an error page of the browser never does.
  frame.addEventListener('load', () => startTimer(SILENCE_MS))
  observer.observe(element)
  element.append(frame)
  return {
    frame,
    remove() {
      observer.disconnect()
      clearTimeout(timer)
      removeEventListener('message', listen)
      frame.remove()
    },
  }
}

function createFrame(address: string, read: ReadAttribute): HTMLIFrameElement {
  const frame = Document.prototype.createElement.call(document, 'iframe') as HTMLIFrameElement
  frame.title = read('title') ?? ''
  frame.loading = 'lazy'
  // A scroll bar in a closed frame would narrow the content and increase its height.
  frame.scrolling = 'no'
  // The same colour scheme as the document inside; otherwise browsers paint an opaque background.
  const colorScheme = read('theme') === 'dark' ? 'dark' : 'light'
  frame.style.cssText = `${CLOSED};display:block;width:100%;border:0;color-scheme:${colorScheme}`
  frame.src = address
  return frame
}

function toHeightPx(message: FrameMessage): number | undefined {
  const value: unknown = message.type === 'height' && message.heightPx
  return typeof value === 'number' && value >= 0 ? Math.min(Math.ceil(value), MAX_HEIGHT_PX) : undefined
}

/** Another "ready" from the same window means another page of deals. */
function greet(frame: HTMLIFrameElement, title: string | undefined, isNextPage: boolean): void {
  frame.title ||= title ?? ''
  if (isNextPage && frame.getBoundingClientRect().top < 0) frame.scrollIntoView()
}

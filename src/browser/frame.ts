/** Runs inside an embed document: reports the height of its content, or that it has none, to the host page. */
import { type FrameMessage, PROTOCOL_VERSION, type WordPressMessage } from './messages.ts'

const content = document.querySelector('.vitrine-content')
/** WordPress sandboxes the frames of unknown providers and gives each a secret for its messages. */
const secret = /[#?&]secret=([\da-z]+)/i.exec(location.hash)?.[1]
let lastHeightPx = 0

function tell(message: FrameMessage | WordPressMessage): void {
  // Any origin may read a height, and the frame cannot know the origin of its host page.
  window.parent.postMessage(message, '*')
}

function measureHeightPx(): number {
  return Math.ceil(content?.getBoundingClientRect().height ?? 0)
}

function report(): void {
  const heightPx = measureHeightPx()
  // A frame that is not rendered measures 0, so only the server decides that a box is hidden.
  if (heightPx < 1 || heightPx === lastHeightPx) return
  lastHeightPx = heightPx
  tell({ vitrine: PROTOCOL_VERSION, type: 'height', heightPx })
  tellWordPress()
}

/** WordPress shows a frame only after its first height, even 0, and a frame measures 0 until it is painted. */
function tellWordPress(): void {
  if (secret) tell({ message: 'height', value: measureHeightPx(), secret })
}

/** A sandboxed frame cannot open a shop: WordPress opens a redirect on this host. Links between pages of a grid keep the secret. */
function follow(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (!secret || !link) return
  const { go } = link.dataset
  if (go === undefined) {
    link.hash = location.hash
    return
  }
  event.preventDefault()
  tell({ message: 'link', value: `${document.body.dataset['vitrineGo'] ?? ''}${go}`, secret })
}

if (window.parent !== window) {
  const { vitrineState: state, vitrineReason: reason, vitrineFault: fault } = document.body.dataset
  tell({ vitrine: PROTOCOL_VERSION, type: 'ready' })
  if (state !== 'shown') {
    tell({ vitrine: PROTOCOL_VERSION, type: 'hidden' })
    // The console informs the page author; readers see nothing. A widget with nothing to show is not an error.
    const text = `Vitrine shows nothing here. ${reason ?? ''} ${location.href}`
    if (state === 'hidden' && fault === undefined) console.debug(text)
    else console.warn(text)
  } else if (content) {
    report()
    tellWordPress()
    new ResizeObserver(report).observe(content)
    if (secret) {
      addEventListener('click', follow)
      addEventListener('message', ({ source, data }: MessageEvent<{ message?: unknown } | null>) => {
        if (source === window.parent && data?.message === 'ready') tellWordPress()
      })
    }
  }
}

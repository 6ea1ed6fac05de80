/** Runs inside an embed document: tells the page around it how high the content is, or that there is none. */
import { type FrameMessage, PROTOCOL_VERSION, type WordPressMessage } from './messages.ts'

const content = document.querySelector('.vitrine-content')
/** WordPress gives the frame of a provider that it does not know a sandbox, and a secret to speak with it. */
const secret = /[#?&]secret=([\da-z]+)/i.exec(location.hash)?.[1]
let lastHeightPx = 0

function tell(message: FrameMessage | WordPressMessage): void {
  // A height is no secret, and the frame cannot know which page it stands in.
  window.parent.postMessage(message, '*')
}

function measureHeightPx(): number {
  return Math.ceil(content?.getBoundingClientRect().height ?? 0)
}

function report(): void {
  const heightPx = measureHeightPx()
  // A frame that is not rendered measures 0: only the server says that a box is hidden.
  if (heightPx < 1 || heightPx === lastHeightPx) return
  lastHeightPx = heightPx
  tell({ vitrine: PROTOCOL_VERSION, type: 'height', heightPx })
  tellWordPress()
}

/** WordPress shows a frame at its first height, whatever it is: one that is not painted yet measures 0. */
function tellWordPress(): void {
  if (secret) tell({ message: 'height', value: measureHeightPx(), secret })
}

/** A sandboxed frame opens no shop by itself: WordPress does, at an address of this host. Pages of a grid keep the secret. */
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
    // For whoever builds the page; readers see nothing. Nothing to show is no mistake.
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

/** Runs inside an embed document: tells the page around it how high the content is, or that there is none. */
import { type FrameMessage, PROTOCOL_VERSION } from './messages.ts'

const content = document.querySelector('.vitrine-content')
let lastHeightPx = 0

function tell(message: FrameMessage): void {
  // A height is no secret, and the frame cannot know which page it stands in.
  window.parent.postMessage(message, '*')
}

function report(): void {
  const heightPx = Math.ceil(content?.getBoundingClientRect().height ?? 0)
  // A frame that is not rendered measures 0: only the server says that a box is hidden.
  if (heightPx < 1 || heightPx === lastHeightPx) return
  lastHeightPx = heightPx
  tell({ vitrine: PROTOCOL_VERSION, type: 'height', heightPx })
}

if (window.parent !== window) {
  const { vitrineState: state, vitrineReason: reason } = document.body.dataset
  tell({ vitrine: PROTOCOL_VERSION, type: 'ready' })
  if (state !== 'shown') {
    tell({ vitrine: PROTOCOL_VERSION, type: 'hidden' })
    // For whoever builds the page; readers see nothing. Nothing to show is no mistake.
    const text = `Vitrine shows nothing here. ${reason ?? ''} ${location.href}`
    if (state === 'hidden') console.debug(text)
    else console.warn(text)
  } else if (content) {
    report()
    new ResizeObserver(report).observe(content)
  }
}

/** Script of an embed: reports the height of the content, or that it is hidden, and clicks to the host page. */
import { watchClicks } from './clicks.ts'
import { type FrameMessage, PROTOCOL_VERSION, type WordPressMessage } from './messages.ts'

const content = document.querySelector('.vitrine-content')
/** WordPress sandboxes frames of unknown providers, and gives them a secret for messages. */
const secret = /\bsecret=(\w+)/.exec(location.hash)?.[1]
let lastHeightPx = 0

function tell(message: FrameMessage | WordPressMessage): void {
  // A height is not secret, and the frame does not know the origin of its host page.
  parent.postMessage(message, '*')
}

/** Only for a document with content. */
function measureHeightPx(): number {
  return Math.ceil((content as Element).getBoundingClientRect().height)
}

function report(): void {
  const heightPx = measureHeightPx()
  // A frame that is not rendered measures 0, so only the server decides whether a box is hidden.
  if (heightPx < 1 || heightPx === lastHeightPx) return
  lastHeightPx = heightPx
  tell({ vitrine: PROTOCOL_VERSION, type: 'height', heightPx })
  tellWordPress()
}

/** Safari can run this script before the style sheets are applied. */
function isStyled(): boolean {
  return [...document.querySelectorAll<HTMLLinkElement>('[rel=stylesheet]')].every(({ sheet }) => sheet)
}

function start(element: Element): void {
  report()
  tellWordPress()
  new ResizeObserver(report).observe(element)
}

/** WordPress keeps the first height that it receives, and a frame that is not painted measures 0. */
function tellWordPress(): void {
  if (secret) tell({ message: 'height', value: measureHeightPx(), secret })
}

/**
 * A sandboxed frame cannot open a shop: WordPress does, at an address of this host. Page links pass the secret on, and replace
 * the page of the frame, so that Back leaves the article.
 */
function follow(event: MouseEvent): void {
  const link = (event.target as Element).closest('a')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
  const { go } = link.dataset
  if (link.closest('nav')) {
    event.preventDefault()
    link.hash = location.hash
    location.replace(link.href)
  } else if (secret && go !== undefined) {
    event.preventDefault()
    tell({ message: 'link', value: `${document.body.dataset['vitrineGo']}${go}`, secret })
  }
}

if (parent !== window) {
  const { vitrineState: state, vitrineReason: reason, vitrineFault: fault } = document.body.dataset
  tell({ vitrine: PROTOCOL_VERSION, type: 'ready', title: document.title })
  if (state !== 'shown') {
    tell({ vitrine: PROTOCOL_VERSION, type: 'hidden' })
    // For the author of the page; readers see nothing. A hidden widget is not an error.
    const text = `Vitrine shows nothing here. ${reason ?? ''} ${location.href}`
    if (state === 'hidden' && fault === undefined) console.debug(text)
    else console.warn(text)
  } else if (content) {
    watchClicks((_widget, click) => {
      const sub = new URLSearchParams(location.search).get('sub')
      tell({ vitrine: PROTOCOL_VERSION, type: 'click', ...click, sub })
    })
    if (isStyled()) start(content)
    else addEventListener('load', () => start(content))
    addEventListener('click', follow)
    if (secret)
      addEventListener('message', ({ source, data }: MessageEvent<{ message?: unknown } | null>) => {
        if (source === parent && data?.message === 'ready') tellWordPress()
      })
  }
}

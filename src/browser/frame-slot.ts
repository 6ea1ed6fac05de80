import type { ReadAttribute } from './address.ts'
import { type MountedFrame, mount } from './mount.ts'

/** A frame that stayed for this long was not removed by a script that answers to it. */
const CALM_MS = 2_000

/** How many frames may follow each other faster. */
const MAX_FRAMES = 10

export type FrameSlot = Readonly<{
  /** Show the widget of an address, or nothing without one. Return `false` if it is already shown, and stays. */
  show(address?: string): boolean
  /** Whether the element contains the frame of this slot and no other. */
  isIntact(): boolean
}>

/** Create the slot of an element, which has one frame at most. `onAnswer`: see `mount`. */
export function createFrameSlot(
  element: HTMLElement,
  read: ReadAttribute,
  onAnswer?: (heightPx?: number) => void,
): FrameSlot {
  const { minHeight } = element.style
  let source = ''
  let mounted: MountedFrame | undefined
  let [mountedAtMs, count, timer] = [0, 0, 0]

  /** Frames of a saved or cloned page, which no script follows. */
  const listOthers = (): HTMLElement[] =>
    [...element.querySelectorAll<HTMLElement>(':scope>iframe[src*="/embeds/"]')].filter(
      (frame) => frame !== mounted?.frame,
    )
  // A consent manager may change the address of the frame.
  const isIntact = (): boolean =>
    (!mounted || mounted.frame.parentNode === element) && listOthers().length === 0
  const replace = (address: string | undefined, isSame: boolean): void => {
    // Until the next frame opens, the page does not move.
    const keptPx = mounted ? parseInt(mounted.frame.style.height) : 0
    clearTimeout(timer)
    mounted?.remove()
    mounted = undefined
    for (const frame of listOthers()) frame.remove()
    count = Date.now() - mountedAtMs < CALM_MS ? count + 1 : 1
    const open = (): void => {
      mountedAtMs = Date.now()
      if (address) mounted = mount(element, address, { read, keptPx, onAnswer })
    }
    if (count <= MAX_FRAMES) open()
    else if (isSame) console.warn('Vitrine: frames are removed.', element)
    else timer = setTimeout(open, CALM_MS)
    if (!mounted) element.style.minHeight = minHeight
    // Chromium does not remove the attribute before it was read.
    if (!element.getAttribute('style')) element.removeAttribute('style')
  }

  const show = (address?: string): boolean => {
    const next = [address, read('height'), read('title')].join()
    const isSame = next === source
    if (isSame && isIntact()) return false
    source = next
    replace(address, isSame)
    return true
  }
  return { show, isIntact }
}

import type { EnginePage } from './engine.ts'

/**
 * Script for a page: before each paint, compares the positions of all elements with `data-still` with those of the previous
 * paint. Chromium also reports layout shifts of any element.
 */
export const WATCH_MOVES = `<script>
moves = []
tops = new WeakMap()
lastFrameMs = 0
requestAnimationFrame(function watch(nowMs) {
  const wasPainted = performance.getEntriesByType('paint').some(({ startTime }) => startTime <= lastFrameMs)
  lastFrameMs = nowMs
  for (const element of document.querySelectorAll('[data-still]')) {
    const top = element.getBoundingClientRect().top + scrollY
    if (wasPainted && Math.abs(top - (tops.get(element) ?? top)) > 0.5)
      moves.push(element.tagName + ' "' + element.textContent.slice(0, 20) + '" from ' + tops.get(element) + ' to ' + top)
    tops.set(element, top)
  }
  requestAnimationFrame(watch)
})
noteShifts = (entries) => { for (const { value, sources } of entries) moves.push('shift of ' + value + ' ' + sources.map(({ node }) => node?.className)) }
shiftObserver = new PerformanceObserver((list) => noteShifts(list.getEntries()))
if (PerformanceObserver.supportedEntryTypes.includes('layout-shift'))
  shiftObserver.observe({ type: 'layout-shift', buffered: true })
</script>`

/** List what has moved so far, after two more paints. */
export function listMoves(page: EnginePage): Promise<string[]> {
  return page.evaluate<
    string[]
  >(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    noteShifts(shiftObserver.takeRecords())
    done(moves)
  })))`)
}

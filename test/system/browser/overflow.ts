/** What `CHECK_OVERFLOW` returns. `problems` is empty if every element is inside its box. */
export type OverflowReport = Readonly<{ specimens: number; elements: number; problems: readonly string[] }>

/**
 * Expression for a page of the gallery: looks at every element of every widget. Reports those outside their widget, cut text, texts
 * of a row that cover each other, and widgets wider than their column. Cards of a carousel may overflow.
 */
export const CHECK_OVERFLOW = `(() => {
  const report = { specimens: 0, elements: 0, problems: [] }
  for (const ground of document.querySelectorAll('.ground')) {
    const root = ground.querySelector('.vitrine-host')?.shadowRoot ?? ground
    const widget = root.querySelector('.vitrine, .vitrine-inline')
    const sheet = widget.getBoundingClientRect()
    const isHidden = (element) => {
      const hidden = element.closest('thead, .vitrine-sr-only, .vitrine-go-text, .vitrine-lines a > :last-child')
      return hidden !== null && getComputedStyle(hidden).position === 'absolute'
    }
    // A carousel scrolls.
    const clipped = (element) => element.closest('[data-layout="carousel"] .vitrine-deals') || isHidden(element)
    // Firefox reports boxes of paths that are larger than what is drawn.
    const seen = [...widget.querySelectorAll('*:not(path)')].filter((element) =>
      element.getBoundingClientRect().width > 0 && !clipped(element))
    const out = seen.filter((element) => {
      const { left, right } = element.getBoundingClientRect()
      return left < sheet.left - 0.5 || right > sheet.right + 0.5
    })
    const texts = seen.filter((element) => element.matches('a, p, th, td, .vitrine-price, .vitrine-state'))
    // The space or ellipsis at the end of a line of a title overhangs, but not the widget.
    const cut = texts.filter((element) => !element.matches('.vitrine-title, .vitrine-name') &&
      element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
    const range = document.createRange()
    const long = texts.filter((element) => {
      if (!element.matches('.vitrine-title, .vitrine-name')) return false
      range.selectNodeContents(element)
      return [...range.getClientRects()].some(({ left, right }) => left < sheet.left || right > sheet.right)
    })
    // Badges of one line may touch the line above.
    const overlap = (one, other) => {
      const a = one.getBoundingClientRect()
      const b = other.getBoundingClientRect()
      return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4
    }
    const parts = '.vitrine-merchant, .vitrine-name, .vitrine-price, .vitrine-ask, .vitrine-was, .vitrine-state, .vitrine-best, .vitrine-shop-terms, .vitrine-go-text, .vitrine-label, .vitrine-title, .vitrine-lines bdi'
    const covered = [...widget.querySelectorAll('.vitrine-offer, .vitrine-button, .vitrine-deal, .vitrine-pick')].flatMap((row) => {
      const visible = [...row.querySelectorAll(parts)].filter((element) =>
        element.getBoundingClientRect().width > 0 && !isHidden(element))
      return visible.filter((one, index) => visible.slice(index + 1).some((other) => overlap(one, other)))
    })
    if (sheet.width > ground.clientWidth - 23.5) report.problems.push(ground.id + ' is wider than its column')
    for (const element of new Set([...out, ...cut, ...long, ...covered]))
      report.problems.push(ground.id + ': ' + element.outerHTML.slice(0, 120))
    report.specimens += 1
    report.elements += seen.length
  }
  return report
})()`

/** Expression that lists only the problems. */
export const FIND_OVERFLOW = `${CHECK_OVERFLOW}.problems`

/**
 * Expression that lists the numbers of prices that have a line break, and the words that have one though they fit into a line.
 * Words may be hyphenated, so switch that off before.
 */
export const FIND_TORN_TEXT = `(() => {
  const problems = []
  const range = document.createRange()
  const countLines = (node, { index, 0: text }) => {
    range.setStart(node, index)
    range.setEnd(node, index + text.length)
    const tops = []
    for (const { top, width, height } of range.getClientRects())
      if (width > 0.5 && tops.every((other) => Math.abs(other - top) > height * 0.6)) tops.push(top)
    return tops.length
  }
  const measureWord = (element, text) => {
    const probe = Object.assign(document.createElement('i'), { textContent: text })
    probe.style.cssText = 'position: absolute !important; visibility: hidden; --_wrap: nowrap; white-space: nowrap !important'
    element.append(probe)
    const { width } = probe.getBoundingClientRect()
    probe.remove()
    return width
  }
  // A text with a column of its own, else its row, in which the other parts give way.
  const findColumn = (element, widget) => {
    const own = element.closest('.vitrine-name, .vitrine-title, .vitrine-brand, .vitrine-label, .vitrine-seller')
    let column = own ?? element
    while (column !== widget && (column.clientWidth === 0 || !(column === own ||
      column.matches('.vitrine-offer, .vitrine-button, .vitrine-lines a, .vitrine-card, .vitrine-body, .vitrine-pick, .vitrine-head, td, th'))))
      column = column.parentElement
    return column
  }
  for (const ground of document.querySelectorAll('.ground')) {
    const widget = ground.querySelector('.vitrine')
    const texts = document.createTreeWalker(widget, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const element = node.parentElement
      const isHidden = element.closest('thead, .vitrine-sr-only, .vitrine-go-text, .vitrine-lines a > :last-child')
      if (element.getClientRects().length === 0 || (isHidden && getComputedStyle(isHidden).position === 'absolute')) continue
      const where = ' in ' + ground.id + ', ' + element.closest('[class]').className
      if (element.closest('.vitrine-price, .vitrine-was, .vitrine-lines'))
        for (const match of node.data.matchAll(/\\p{Nd}[\\p{Nd}.,'’٬٫\\u00a0\\u202f]*\\p{Nd}/gu))
          if (countLines(node, match) > 1) problems.push('the number ' + match[0] + where)
      for (const match of node.data.matchAll(/([^\\s/-]{3,})-?/gu)) {
        if (/[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]/u.test(match[0]) || countLines(node, { index: match.index, 0: match[1] }) < 2) continue
        // From the beginning of the text to the end of its column or row.
        const column = findColumn(element, widget)
        const [outer, inner] = [column, element.closest('p, div, span[class], td, th, li')].map((one) => {
          const { left, right } = one.getBoundingClientRect()
          const { paddingLeft, paddingRight } = getComputedStyle(one)
          return [left + Number.parseFloat(paddingLeft), right - Number.parseFloat(paddingRight)]
        })
        const columnPx = getComputedStyle(column).direction === 'rtl' ? inner[1] - outer[0] : outer[1] - inner[0]
        // The arrow of a fold.
        const arrowPx = element.closest('summary') ? 2 * Number.parseFloat(getComputedStyle(element).fontSize) : 0
        if (measureWord(element, match[0]) < columnPx * 0.98 - arrowPx) problems.push('the word ' + match[0] + where)
      }
    }
  }
  return problems
})()`

import { escapeHtml } from './html.mjs'

const BLOCK_WORDS = { alt: 'If', opt: 'If', loop: 'For', else: 'Otherwise' }

/**
 * Render a sequence diagram of Mermaid as nested lists, which need no script and fit on a phone.
 *
 * @throws {Error} a line that is not a participant, message or block
 */
export function renderSequence(source) {
  const names = new Map()
  const lines = source
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
  const items = lines.map((line) => renderLine(line, names))
  return `<div class="sequence"><ol>${items.join('\n')}</ol></div>\n`
}

function renderLine(line, names) {
  const [, id, name] = /^participant (\w+) as (.+)$/.exec(line) ?? []
  if (id !== undefined) {
    names.set(id, name)
    return ''
  }
  if (line === 'end') return '</ol></li>'
  const [, word, condition] = /^(alt|opt|loop|else)\b ?(.*)$/.exec(line) ?? []
  if (word !== undefined) return renderBlock(word, condition)
  const [, from, to, text] = /^(\w+)-{1,2}>>(\w+): (.+)$/.exec(line) ?? []
  if (from === undefined) throw new Error(`not a line of a sequence diagram: ${line}`)
  const actors =
    from === to
      ? toName(names, from)
      : `${toName(names, from)} <span aria-hidden="true">→</span><span class="sr-only">to</span> ${toName(names, to)}`
  return `<li><span class="actors">${actors}</span> ${escapeHtml(text)}</li>`
}

function renderBlock(word, condition) {
  const before = word === 'else' ? '</ol></li>' : ''
  const text = escapeHtml(
    `${BLOCK_WORDS[word]}${condition === '' ? '' : word === 'else' ? `, if ${condition}` : ` ${condition}`}`,
  )
  return `${before}<li class="block"><p>${text}:</p><ol>`
}

const toName = (names, id) => `<b>${escapeHtml(names.get(id) ?? id)}</b>`

import GithubSlugger from 'github-slugger'
import { renderSequence } from './sequence.mjs'

/** Where names of settings and paths may break in a narrow column. */
const BREAK = /(?<=[A-Z0-9])_(?=[A-Z0-9])|(?<=\w)[/:](?=[a-z])|&amp;(?=\w)/g

/**
 * Set up Eleventy's Markdown library: anchors of headings as on GitHub, links to pages of the site, code and tables that scroll.
 * The template data of a page has its `source`.
 */
export function setUpMarkdown(md, resolveLink) {
  md.set({ html: true, linkify: false, typographer: false })
  md.core.ruler.push('site', ({ env, tokens }) => {
    const slugger = new GithubSlugger()
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'heading_open') token.attrSet('id', slugger.slug(toText(tokens[index + 1])))
      if (token.type === 'tr_open') addRowAnchor(token, tokens[index + 2], slugger)
      moveAlignment(token)
      for (const child of token.children ?? []) resolveAttributes(child, env.source, resolveLink)
    }
  })
  const { rules } = md.renderer
  rules.heading_open = (tokens, index) => {
    const id = tokens[index].attrGet('id')
    const { tag } = tokens[index]
    return tag === 'h1' ? '<h1>' : `<${tag} id="${id}"><a class="anchor" href="#${id}">`
  }
  rules.heading_close = (tokens, index) => {
    const { tag } = tokens[index]
    return tag === 'h1' ? '</h1>\n' : `</a></${tag}>\n`
  }
  rules.code_inline = (tokens, index) =>
    `<code>${md.utils.escapeHtml(tokens[index].content).replaceAll(BREAK, '$&<wbr>')}</code>`
  rules.fence = (tokens, index) => renderCode(md, tokens[index])
  rules.table_open = () => '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>\n'
  rules.table_close = () => '</table></div>\n'
}

/** Settings have a row each: the search and links lead to it. */
function addRowAnchor(row, { content }, slugger) {
  const [, name] = /^`(VITRINE_\w+)`$/.exec(content) ?? []
  if (name !== undefined) row.attrSet('id', slugger.slug(name))
}

/** Align cells by an attribute: content policies of hosts may refuse inline styles. */
function moveAlignment(token) {
  const [, side] = /^text-align:(\w+)$/.exec(token.attrGet('style') ?? '') ?? []
  if (side !== undefined) token.attrs = [['data-align', side]]
}

function toText({ children }) {
  return children
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('')
}

function resolveAttributes(token, source, resolveLink) {
  const name = { link_open: 'href', image: 'src' }[token.type]
  if (name !== undefined) token.attrSet(name, resolveLink(source, token.attrGet(name)))
}

function renderCode(md, { info, content }) {
  const language = info.trim().split(/\s/)[0]
  if (language === 'mermaid') return renderSequence(content)
  const name = language === '' ? '' : ` data-language="${md.utils.escapeHtml(language)}"`
  return `<div class="code"${name}><pre tabindex="0" role="group" aria-label="Code"><code>${md.utils.escapeHtml(content)}</code></pre></div>\n`
}

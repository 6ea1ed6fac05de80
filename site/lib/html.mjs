const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escape text for HTML content and attributes. */
export function escapeHtml(text) {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character])
}

/** Render text in which backticks mark code. */
export function renderInline(text) {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

/** How long a button shows "Copied". */
const COPIED_MS = 1_600

/** Show a button that copies the code beside it. */
export function prepareCopyButton(button: HTMLButtonElement): void {
  const label = button.textContent
  const code = button.parentElement?.querySelector('code')
  button.hidden = false
  const handleClick = async (): Promise<void> => {
    const isCopied = await copy(code?.textContent ?? '')
    button.textContent = isCopied ? 'Copied' : 'Press Ctrl+C'
    button.focus()
    if (!isCopied && code) window.getSelection()?.selectAllChildren(code)
    setTimeout(() => (button.textContent = label), COPIED_MS)
  }
  button.addEventListener('click', () => void handleClick())
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** Copy without the clipboard API, which plain http pages have only on localhost. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'said'
  document.body.append(area)
  area.select()
  try {
    // oxlint-disable-next-line typescript/no-deprecated -- the only way without the clipboard API
    return document.execCommand('copy')
  } finally {
    area.remove()
  }
}

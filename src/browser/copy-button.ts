/** How long a button confirms that it has copied. */
const COPIED_MS = 1_600

/** Show a button that copies the code of its block and confirms that. */
export function prepareCopyButton(button: HTMLButtonElement): void {
  const label = button.textContent
  const code = button.closest('.code')?.querySelector('code')
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

/** For pages without the clipboard API: plain http on another host. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'sr-only'
  document.body.append(area)
  area.select()
  try {
    // oxlint-disable-next-line typescript/no-deprecated -- the only method available there
    return document.execCommand('copy')
  } finally {
    area.remove()
  }
}

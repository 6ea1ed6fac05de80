/** How long a button says that it has copied. */
const COPIED_MS = 1_600

/** Shows a button, which copies the code beside it and says so. */
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

/** For pages without the clipboard interface: plain http on another host than this machine. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'said'
  document.body.append(area)
  area.select()
  try {
    // oxlint-disable-next-line typescript/no-deprecated -- the only way left there
    return document.execCommand('copy')
  } finally {
    area.remove()
  }
}

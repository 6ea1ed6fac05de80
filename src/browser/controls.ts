/** How long a button confirms that it has copied. */
const COPIED_MS = 1_600

/** Let each copy button copy the code of its block and confirm that. */
export function listenForCopies(): void {
  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element && target.closest<HTMLButtonElement>('button[data-copy]')
    if (button) void copyCode(button)
  })
}

async function copyCode(button: HTMLButtonElement): Promise<void> {
  const code = button.closest('.code')?.querySelector('code')
  const isCopied = await copy(code?.textContent ?? '')
  button.textContent = isCopied ? 'Copied' : 'Press Ctrl+C'
  button.focus()
  if (!isCopied && code) window.getSelection()?.selectAllChildren(code)
  setTimeout(() => (button.textContent = 'Copy'), COPIED_MS)
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

/**
 * Keep a colour picker and its text field in sync. The text field is the one that the form submits; when it is empty,
 * the picker shows the colour of the theme.
 */
export function prepareColorPicker(picker: HTMLInputElement): void {
  const field = document.getElementById(picker.dataset['picks'] ?? '')
  const clear = document.querySelector<HTMLButtonElement>(`[data-clears="${picker.dataset['picks'] ?? ''}"]`)
  if (!(field instanceof HTMLInputElement) || clear === null) return
  const themeColor = picker.dataset['theme'] ?? ''

  const showField = (): void => {
    const hex = /^#?([0-9a-f]{6})$/i.exec(field.value.trim())?.[1]
    if (hex !== undefined) picker.value = `#${hex.toLowerCase()}`
    else if (field.value === '') picker.value = themeColor
    clear.hidden = field.value === ''
  }
  const setField = (value: string): void => {
    field.value = value
    field.dispatchEvent(new Event('input', { bubbles: true }))
  }

  picker.hidden = false
  showField()
  field.addEventListener('input', showField)
  picker.addEventListener('input', () => setField(picker.value.slice(1)))
  clear.addEventListener('click', () => {
    setField('')
    // The button disappears.
    field.focus()
  })
}

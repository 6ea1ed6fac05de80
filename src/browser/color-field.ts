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

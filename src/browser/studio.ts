/** Comforts of the start page; everything works without them. */

/** How long a button says that it has copied. */
const COPIED_MS = 1_600

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

function prepareCopyButton(button: HTMLButtonElement): void {
  const label = button.textContent
  const code = button.parentElement?.querySelector('code')
  button.hidden = false
  const answer = async (): Promise<void> => {
    const isCopied = await copy(code?.textContent ?? '')
    button.textContent = isCopied ? 'Copied' : 'Press Ctrl+C'
    button.focus()
    if (!isCopied && code) window.getSelection()?.selectAllChildren(code)
    setTimeout(() => (button.textContent = label), COPIED_MS)
  }
  button.addEventListener('click', () => void answer())
}

/** A choice counts at once: the page switches its own theme and asks for the rest. */
function prepareForm(form: HTMLFormElement): void {
  for (const submit of form.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true
  form.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement && target.name === 'theme') {
      document.documentElement.dataset['theme'] = target.value
    }
    if (target instanceof HTMLInputElement && target.type === 'search') return
    form.requestSubmit()
  })
}

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]'))
  prepareCopyButton(button)
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-instant]')) prepareForm(form)

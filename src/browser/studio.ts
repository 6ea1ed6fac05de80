/** Enhancements of the studio; everything works without them. */
import { prepareColorPicker } from './color-field.ts'
import { prepareCopyButton } from './copy-button.ts'
import { prepareLiveForm } from './live-form.ts'

/** Submit the form at once when a selection changes. */
function prepareInstantForm(form: HTMLFormElement): void {
  for (const submit of form.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true
  form.addEventListener('change', () => form.requestSubmit())
}

/** Scroll the list of products, but not the page, to the selected one. */
function showSelectedMatch(list: HTMLElement): void {
  const item = list.querySelector('[aria-current]')?.parentElement
  if (!item) return
  list.scrollTop = item.offsetTop - (list.clientHeight - item.offsetHeight) / 2
  list.scrollLeft = item.offsetLeft - (list.clientWidth - item.offsetWidth) / 2
}

for (const list of document.querySelectorAll<HTMLElement>('.matches')) showSelectedMatch(list)
for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]'))
  prepareCopyButton(button)
for (const picker of document.querySelectorAll<HTMLInputElement>('input[data-picks]'))
  prepareColorPicker(picker)
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-instant]')) prepareInstantForm(form)
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-live]')) prepareLiveForm(form)

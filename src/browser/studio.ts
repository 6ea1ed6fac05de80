/** Enhancements of the studio; everything works without them. */
import { listenForCopies, prepareColorPicker } from './controls.ts'
import { prepareLiveForm } from './live-form.ts'
import { prepareForScript } from './live-page.ts'

/** Scroll the list of products, but not the page, to the selected one. */
function showSelectedMatch(list: HTMLElement): void {
  const item = list.querySelector('[aria-current]')?.parentElement
  if (!item) return
  list.scrollTop = item.offsetTop - (list.clientHeight - item.offsetHeight) / 2
  list.scrollLeft = item.offsetLeft - (list.clientWidth - item.offsetWidth) / 2
}

prepareForScript(document)
listenForCopies()
for (const list of document.querySelectorAll<HTMLElement>('.matches')) showSelectedMatch(list)
for (const picker of document.querySelectorAll<HTMLInputElement>('input[data-picks]'))
  prepareColorPicker(picker)
// Submit these at once when a selection changes.
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-instant]'))
  form.addEventListener('change', () => form.requestSubmit())
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-live]')) prepareLiveForm(form)

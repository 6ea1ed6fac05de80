/** Enhancements of the studio; everything works without them. */
import { prepareColorPicker } from './color-field.ts'
import { prepareCopyButton } from './copy-button.ts'
import { prepareLiveForm } from './live-form.ts'

/** Submit the form at once when a selection changes. */
function prepareInstantForm(form: HTMLFormElement): void {
  for (const submit of form.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true
  form.addEventListener('change', () => form.requestSubmit())
}

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]'))
  prepareCopyButton(button)
for (const picker of document.querySelectorAll<HTMLInputElement>('input[data-picks]'))
  prepareColorPicker(picker)
// The list of products scrolls by itself.
document.querySelector('.match[aria-current]')?.scrollIntoView({ block: 'nearest' })
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-instant]')) prepareInstantForm(form)
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-live]')) prepareLiveForm(form)

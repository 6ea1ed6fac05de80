/** Optional script of the studio, which also works without it. */
import { prepareCopyButton } from './copy-button.ts'
import { prepareLiveForm } from './live-form.ts'

/** Submit the form after each change. */
function prepareInstantForm(form: HTMLFormElement): void {
  for (const submit of form.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true
  form.addEventListener('change', () => form.requestSubmit())
}

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]'))
  prepareCopyButton(button)
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-instant]')) prepareInstantForm(form)
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-live]')) prepareLiveForm(form)

import { HtmlValidate } from 'html-validate'
import { type ParserError, parse, parseFragment } from 'parse5'

const checker = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: {
    // In WebKit, `list-style: none` removes the list role, so the views repeat it.
    'no-redundant-role': 'off',
    'void-style': 'off',
    // Checkboxes that share a name are a list of values.
    'form-dup-name': ['error', { shared: ['radio', 'checkbox', 'submit'] }],
    'no-implicit-button-type': 'error',
    'doctype-style': 'off',
    'long-title': 'off',
    'no-trailing-whitespace': 'off',
    'require-sri': 'off',
    'prefer-native-element': 'off',
  },
})

/** The labels of a round-up are a list of texts, which the rule has no setting for. */
const ALLOWED_MESSAGE = 'Duplicate form control name "label"'

/**
 * Return the errors of two validators for a document or fragment: html-validate (content models, attributes, accessibility)
 * and parse5 (parse errors of the HTML standard).
 */
export async function findHtmlErrors(html: string): Promise<readonly string[]> {
  const { results } = await checker.validateString(html)
  const errors = results.flatMap(({ messages }) =>
    messages
      .filter(({ message }) => message !== ALLOWED_MESSAGE)
      .map(({ ruleId, message, line }) => `${ruleId}, line ${line}: ${message}`),
  )
  const onParseError = ({ code, startLine }: ParserError): void => {
    errors.push(`${code}, line ${startLine}`)
  }
  const options = { sourceCodeLocationInfo: true, onParseError }
  if (/^<!doctype/i.test(html)) parse(html, options)
  else parseFragment(html, options)
  return errors
}

import { HtmlValidate } from 'html-validate'
import { type ParserError, parse, parseFragment } from 'parse5'

const checker = new HtmlValidate({
  extends: ['html-validate:recommended'],
  rules: {
    // list-style none takes the role from a list in WebKit: it is said again.
    'no-redundant-role': 'off',
    'void-style': 'off',
    // Boxes of one name are a list of values.
    'form-dup-name': ['error', { shared: ['radio', 'checkbox', 'submit'] }],
    'no-implicit-button-type': 'error',
    'doctype-style': 'off',
    'long-title': 'off',
    'no-trailing-whitespace': 'off',
    'require-sri': 'off',
    'prefer-native-element': 'off',
  },
})

/**
 * What two validators find in a document or a fragment: html-validate (content models, attributes, accessibility) and the
 * parse errors of the HTML standard, as parse5 reports them.
 */
export async function findHtmlErrors(html: string): Promise<readonly string[]> {
  const { results } = await checker.validateString(html)
  const errors = results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line }) => `${ruleId}, line ${line}: ${message}`),
  )
  const onParseError = ({ code, startLine }: ParserError): void => {
    errors.push(`${code}, line ${startLine}`)
  }
  const options = { sourceCodeLocationInfo: true, onParseError }
  if (/^<!doctype/i.test(html)) parse(html, options)
  else parseFragment(html, options)
  return errors
}

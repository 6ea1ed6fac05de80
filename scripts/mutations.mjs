/** Lists the mutants of a source file: single changes that a test should notice. */
import { parseAst } from 'vitest/node'

/** Operators that a tired engineer confuses. */
const SWAPPED_OPERATORS = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['===', '!=='],
  ['!==', '==='],
  ['+', '-'],
  ['-', '+'],
  ['*', '/'],
  ['/', '*'],
  ['&&', '||'],
  ['||', '&&'],
])

const SWAPPED_METHODS = new Map([
  ['min', 'max'],
  ['max', 'min'],
])

/** Calls that return a value of the type of their object. */
const REMOVABLE_METHODS = new Set([
  'slice',
  'trim',
  'toLowerCase',
  'filter',
  'sort',
  'toSorted',
  'catch',
  'finally',
])

const REMOVABLE_EXPRESSIONS = new Set([
  'CallExpression',
  'AwaitExpression',
  'AssignmentExpression',
  'UpdateExpression',
  'UnaryExpression',
])

/** What changes no behaviour: types and names. */
const isSkipped = ({ type }) =>
  (type.startsWith('TS') && !/^TS(?:As|NonNull|Satisfies)Expression$/.test(type)) ||
  /^(?:Import|ExportAll)Declaration$|^TemplateElement$/.test(type)

const isString = (node) =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')

/** Texts for people: tests compare what they say, not each word. */
const isSentence = (text) => text.split(' ').length > 3

const mutateOperator = (node, text) => {
  const { left, right, operator } = node
  const swapped = SWAPPED_OPERATORS.get(operator)
  if (swapped === undefined || (operator === '+' && (isString(left) || isString(right)))) return []
  const start = left.end + text.slice(left.end, right.start).indexOf(operator)
  return [{ kind: 'operator', start, end: start + operator.length, replacement: swapped }]
}

const mutateCondition = ({ test }) =>
  test === null || test === undefined
    ? []
    : ['true', 'false'].map((replacement) => ({ kind: 'condition', ...test, replacement }))

const removeStatement = (node) => [{ kind: 'statement', ...node, replacement: ';' }]

/** By type of a node: its mutants. */
const MUTATORS = {
  BinaryExpression: mutateOperator,
  LogicalExpression(node, text) {
    if (node.operator !== '??') return mutateOperator(node, text)
    return [{ kind: 'fallback', start: node.left.end, end: node.end, replacement: '' }]
  },
  UnaryExpression: ({ operator, start }) =>
    operator === '!' ? [{ kind: 'operator', start, end: start + 1, replacement: '' }] : [],
  IfStatement: mutateCondition,
  ConditionalExpression: mutateCondition,
  // An endless loop says nothing about the tests.
  WhileStatement: (node) => mutateCondition(node).filter(({ replacement }) => replacement === 'false'),
  Literal(node) {
    const { value } = node
    if (typeof value === 'boolean') return [{ kind: 'constant', ...node, replacement: String(!value) }]
    if (typeof value === 'number') return [{ kind: 'constant', ...node, replacement: String(value + 1) }]
    if (typeof value !== 'string' || isSentence(value)) return []
    return [{ kind: 'constant', ...node, replacement: value === '' ? "'mutant'" : "''" }]
  },
  ExpressionStatement: (node) =>
    REMOVABLE_EXPRESSIONS.has(node.expression.type) ? removeStatement(node) : [],
  ThrowStatement: removeStatement,
  ReturnStatement: removeStatement,
  CallExpression({ callee, end }) {
    if (callee.type !== 'MemberExpression' || callee.computed) return []
    const { object, property } = callee
    const swapped = object.name === 'Math' ? SWAPPED_METHODS.get(property.name) : undefined
    if (swapped !== undefined) return [{ kind: 'method', ...property, replacement: swapped }]
    if (!REMOVABLE_METHODS.has(property.name)) return []
    return [{ kind: 'method', start: object.end, end, replacement: '' }]
  },
}

/** Return the children that are evaluated: not the names of properties. */
const listChildren = (node) =>
  Object.entries(node)
    .filter(([key]) => key !== 'key' || node.computed === true)
    .flatMap(([, value]) => value)
    .filter((value) => typeof value?.type === 'string')

/** Return the last `return` of a function: its type requires one. */
function findLastReturn({ type, body }) {
  if (!/Function/.test(type) || body?.type !== 'BlockStatement') return undefined
  const last = body.body.at(-1)
  return last?.type === 'ReturnStatement' ? last : undefined
}

/** @throws SyntaxError when the text is not TypeScript */
export const parseSource = (text) => parseAst(text, { lang: 'ts' })

/** Return the mutants of a file as `{ kind, line, start, end, before, after }`, in the order of the text. */
export function listMutants(text) {
  const mutants = []
  const toLine = createLineFinder(text)
  const kept = new Set()
  const visit = (node) => {
    if (isSkipped(node)) return
    kept.add(findLastReturn(node))
    const found = kept.has(node) ? [] : (MUTATORS[node.type]?.(node, text) ?? [])
    for (const { kind, start, end, replacement } of found)
      mutants.push({
        kind,
        line: toLine(start),
        start,
        end,
        before: text.slice(start, end),
        after: replacement,
      })
    for (const child of listChildren(node)) visit(child)
  }
  visit(parseSource(text))
  return mutants.toSorted((left, right) => left.start - right.start)
}

function createLineFinder(text) {
  const starts = [0]
  for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1))
    starts.push(index + 1)
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1
}

/** List an error and its causes, outermost first. The list is empty when the thrown value is not an `Error`. */
export function listCauses(error: unknown): readonly Error[] {
  return error instanceof Error ? [error, ...listCauses(error.cause)] : []
}

/** List an error and its causes, the outermost first; a thrown value that is no error has none. */
export function listCauses(error: unknown): readonly Error[] {
  return error instanceof Error ? [error, ...listCauses(error.cause)] : []
}

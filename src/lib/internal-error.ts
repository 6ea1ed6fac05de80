/** Describe an error by its code or name and source location. Its message could contain data of the catalog. */
export function describeInternalError({ name, code, stack }: Partial<NodeJS.ErrnoException>): string {
  const label = [code, name].find((text) => text !== undefined && /^\w{1,60}$/.test(text)) ?? 'Error'
  const location = /\/([\w-]+\.[jt]s:\d+:\d+)\)?$/m.exec(stack ?? '')?.[1]
  return location === undefined ? label : `${label} at ${location}`
}

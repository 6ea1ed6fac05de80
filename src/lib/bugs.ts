/** A bug by its code or name and its place: the words of others may carry pieces of what the catalog sent. */
export function describeBug({ name, code, stack }: Partial<NodeJS.ErrnoException>): string {
  const label = [code, name].find((text) => text !== undefined && /^\w{1,60}$/.test(text)) ?? 'Error'
  const location = /\/([\w-]+\.[jt]s:\d+:\d+)\)?$/m.exec(stack ?? '')?.[1]
  return location === undefined ? label : `${label} at ${location}`
}

/** A bug by its code or name and its place: the words of others may carry pieces of what the catalog sent. */
export function describeBug({ name, code, stack }: Partial<NodeJS.ErrnoException>): string {
  const what = [code, name].find((word) => word !== undefined && /^\w{1,60}$/.test(word)) ?? 'Error'
  const place = /\/([\w-]+\.[jt]s:\d+:\d+)\)?$/m.exec(stack ?? '')?.[1]
  return place === undefined ? what : `${what} at ${place}`
}

export const CHANNEL = '952a0000-0000-4000-8000-00000000000a'
export const OTHER_CHANNEL = '952a0000-0000-4000-8000-00000000000b'

/** A command of a case. `file`: written before it; `{file}` in the arguments is its path. */
export type Step = Readonly<{
  file?: string
  content?: string | Buffer
  args: readonly string[]
  /** Only the first lines of the output count. */
  isBrief?: true
  /** What the server at `{server}` serves from now on. */
  served?: string
}>

export type Case = Readonly<{ name: string; steps: readonly Step[] }>

/** Write a feed and import it. */
export const importFeed = (file: string, content: string | Buffer, ...args: readonly string[]): Step => ({
  file,
  content,
  args: ['import', '{file}', '--channel', CHANNEL, ...args],
})

/** The import of one feed. */
export const one = (name: string, content: string | Buffer, ...args: readonly string[]): Case => ({
  name,
  steps: [importFeed('feed', content, ...args)],
})

/** The part of the JSON-LD processor that tests use; the package has no types. */
declare module 'jsonld' {
  type Node = Readonly<Record<string, unknown>>
  type Options = Readonly<{
    /** Address that relative ids belong to. */
    base: string
    /** `false`: ids of the result are absolute. */
    compactToRelative: boolean
    documentLoader(url: string): Promise<Readonly<{ documentUrl: string; document: unknown }>>
  }>
  const jsonld: {
    flatten(documents: readonly unknown[], context: unknown, options: Options): Promise<{ '@graph': Node[] }>
  }
  export default jsonld
}

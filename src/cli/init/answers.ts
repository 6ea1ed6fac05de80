/** How the server will run: with `.env` only, by systemd, or in containers. */
export const SETUPS = ['env', 'systemd', 'compose'] as const
export type Setup = (typeof SETUPS)[number]

/** The values of settings; `null`: not set. */
export type Answers = Readonly<{
  setup: Setup
  catalogUrl: string | null
  catalogKey: string | null
  publicUrl: string | null
  /** `null`: SQLite at its default path. `compose.yaml` has a database of its own. */
  databaseUrl: string | null
}>

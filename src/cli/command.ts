import type { Arguments } from './arguments.ts'
import type { Output } from './output.ts'

/** One flag of a command. A name has the same kind in every command that has it. */
export interface Flag {
  /** `switch` takes no value, `list` may come several times, `optional` may stand without its value. */
  readonly kind: 'text' | 'switch' | 'list' | 'optional'
  readonly short?: string
  /** The placeholder of its value in the help: `--delay <5m>`. */
  readonly value?: string
  readonly help: string
}

export type Flags = Readonly<Record<string, Flag>>

/** One command of `skep`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** The usage lines, without `skep `. */
  readonly usage: readonly string[]
  /** The actions with their descriptions. The first one is the default. */
  readonly actions?: Readonly<Record<string, string>>
  /** The first word may be a name instead of an action; the command validates it. */
  readonly takesNames?: boolean
  /** It needs the database itself, or nothing, and no server. */
  readonly asksNoServer?: true
  readonly flags: Flags
  readonly examples: readonly string[]
  /** Does the work and returns the exit code. Errors are shown by the caller. */
  run(call: Call): Promise<number>
}

/** What a command gets. */
export interface Call {
  readonly args: Arguments
  readonly out: Output
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/** The flags that select a server. */
export const SERVER_FLAGS: readonly string[] = ['url', 'token', 'token-file']

/** Flags that every command has. */
export const GLOBAL_FLAGS: Flags = {
  db: {
    kind: 'text',
    value: 'url|file',
    help: 'postgres://…, redis://… or a SQLite file. Default: the config file, else .skep/dev.db',
  },
  url: {
    kind: 'text',
    value: 'address',
    help: 'Use this server instead of a database: https://jobs.example.com',
  },
  token: { kind: 'text', value: 'text', help: 'The token for --url. Better: --token-file, or SKEP_TOKEN' },
  'token-file': { kind: 'text', value: 'path', help: 'A file with that token' },
  schema: { kind: 'text', value: 'name', help: 'The schema in PostgreSQL. Default: skep' },
  prefix: { kind: 'text', value: 'name', help: 'Prefix of the keys in Redis. Default: skep' },
  space: { kind: 'text', value: 'name', help: 'Space (tenant). Default: "default"' },
  config: {
    kind: 'text',
    value: 'file',
    help: 'Config file. Default: skep.config.ts in this folder or above',
  },
  json: { kind: 'switch', help: 'Print JSON' },
  quiet: { kind: 'switch', short: 'q', help: 'Print only results' },
  'no-color': { kind: 'switch', help: 'Disable colors' },
  yes: { kind: 'switch', short: 'y', help: 'Skip confirmations' },
  help: { kind: 'switch', short: 'h', help: 'Show help' },
  version: { kind: 'switch', short: 'v', help: 'Show the version' },
}

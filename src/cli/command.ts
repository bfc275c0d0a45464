import type { Arguments } from './arguments.ts'
import type { Output } from './output.ts'

/** One flag of a command. A name has the same kind in every command that has it. */
export interface Flag {
  /** `switch` takes no value, `list` may come several times, `optional` may stand without its value. */
  readonly kind: 'text' | 'switch' | 'list' | 'optional'
  readonly short?: string
  /** How its value is called in the help: `--delay <5m>`. */
  readonly value?: string
  readonly help: string
}

export type Flags = Readonly<Record<string, Flag>>

/** One command of `skep`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** What may follow `skep `, one line for each way. */
  readonly usage: readonly string[]
  /** The words that may come first, with what each does. The first one is meant when there is none. */
  readonly actions?: Readonly<Record<string, string>>
  /** Names may stand in the place of an action; then the command judges the first word itself. */
  readonly takesNames?: boolean
  /** It works on the database itself, or on nothing, and asks no server. */
  readonly asksNoServer?: true
  readonly flags: Flags
  readonly examples: readonly string[]
  /** Does the work and returns the exit code. What it throws is explained and shown by the caller. */
  run(call: Call): Promise<number>
}

/** What a command gets. */
export interface Call {
  readonly args: Arguments
  readonly out: Output
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/** Of these, what says which server is asked. */
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
    help: 'Ask this server instead of a database: https://jobs.example.com',
  },
  token: { kind: 'text', value: 'text', help: 'The token for --url. Better: --token-file, or SKEP_TOKEN' },
  'token-file': { kind: 'text', value: 'path', help: 'A file with that token' },
  schema: { kind: 'text', value: 'name', help: 'The schema in PostgreSQL. Default: skep' },
  prefix: { kind: 'text', value: 'name', help: 'What the keys in Redis begin with. Default: skep' },
  space: { kind: 'text', value: 'name', help: 'The tenant. Default: "default"' },
  config: { kind: 'text', value: 'file', help: 'The config file. Default: skep.config.ts, here or above' },
  json: { kind: 'switch', help: 'Print JSON' },
  quiet: { kind: 'switch', short: 'q', help: 'Print only what was asked for' },
  'no-color': { kind: 'switch', help: 'Print without colours' },
  yes: { kind: 'switch', short: 'y', help: 'Do not ask' },
  help: { kind: 'switch', short: 'h', help: 'Show help' },
  version: { kind: 'switch', short: 'v', help: 'Show the version' },
}

import { parseArgs } from 'node:util'
import type { Duration } from '../index.ts'
import type { Flag, Flags } from './command.ts'
import { usage } from './exit.ts'
import { quote } from './format/text.ts'

const DURATION = /^\d+(?:\.\d+)?(?:ms|s|m|h|d|w)$/
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const ISO = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/

/** The command line: its words, and every flag with its values, not yet validated. */
export interface Typed {
  readonly words: readonly string[]
  readonly flags: ReadonlyMap<string, readonly (string | undefined)[]>
}

/** Splits a command line. `known` are the flags of all commands, because the command is not known yet. */
export function split(argv: readonly string[], known: Flags): Typed {
  const { tokens } = parseArgs({
    args: withOptionalValues(argv, known),
    options: Object.fromEntries(
      Object.entries(known).map(([name, { kind, short }]) => [
        name,
        {
          type: kind === 'switch' ? 'boolean' : 'string',
          ...(short === undefined ? {} : { short }),
        } as const,
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const words: string[] = []
  const flags = new Map<string, (string | undefined)[]>()
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const swallowed = token.inlineValue === false && token.value?.startsWith('--') === true
    if (swallowed) throw usage(`--${token.name} needs a value before ${quote(token.value ?? '')}.`)
    const values = flags.get(token.name) ?? []
    flags.set(token.name, values)
    values.push(token.value)
  }
  return { words, flags }
}

/** `--wait 30s` and `--wait` both work: only a duration is taken as the value. */
function withOptionalValues(argv: readonly string[], known: Flags): string[] {
  const args: string[] = []
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] as string
    if (i < end && arg.startsWith('--') && known[arg.slice(2)]?.kind === 'optional') {
      const next = argv[i + 1]
      const value = next !== undefined && DURATION.test(next) ? next : ''
      if (value !== '') i++
      args.push(`${arg}=${value}`)
    } else args.push(arg)
  }
  return args
}

/** The arguments of one command. A flag may also come from the environment: `SKEP_` and its name. */
export class Arguments {
  /** The words after the command. */
  readonly words: readonly string[]
  readonly #typed: Typed['flags']
  readonly #known: Flags
  readonly #env: NodeJS.ProcessEnv

  constructor(typed: Typed, known: Flags, env: NodeJS.ProcessEnv) {
    this.words = typed.words
    this.#typed = typed.flags
    this.#known = known
    this.#env = env
    for (const [name, values] of typed.flags) assertShape(name, known[name], values)
  }

  /** Whether the flag is on the command line itself. */
  typed(name: string): boolean {
    return this.#typed.has(name)
  }

  on(name: string): boolean {
    if (this.#typed.has(name)) return true
    const value = this.#env[variableOf(name)]?.toLowerCase() ?? ''
    if (['', '0', 'false', 'no', 'off'].includes(value)) return false
    if (['1', 'true', 'yes', 'on'].includes(value)) return true
    throw usage(`${variableOf(name)} is ${quote(value)}; use 1 or 0.`)
  }

  text(name: string): string | undefined {
    const values = this.#typed.get(name)
    if (values !== undefined) return values.at(-1)
    const value = this.#env[variableOf(name)]
    return value === undefined || (value === '' && this.#known[name]?.kind !== 'optional') ? undefined : value
  }

  list(name: string): readonly string[] {
    const values = this.#typed.get(name) as readonly string[] | undefined
    return values ?? this.#env[variableOf(name)]?.split('\n').filter((line) => line !== '') ?? []
  }

  /** The parts of `--queues a,b`. */
  names(name: string): readonly string[] | undefined {
    const parts = this.text(name)
      ?.split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
    if (parts?.length === 0) throw usage(`--${name} is empty; name at least one, separated by commas.`)
    return parts
  }

  whole(name: string, { min, max }: { readonly min: number; readonly max: number }): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw usage(`--${name} is ${quote(text)}; use a whole number from ${min} to ${max}.`)
  }

  duration(name: string): Duration | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (DURATION.test(text)) return text as Duration
    throw usage(`--${name} is ${quote(text)}; use a number with a unit: 250ms, 30s, 5m, 2h, 7d or 2w.`)
  }

  /** A time: ISO 8601, or with `ago` a duration before now (`2h`). */
  moment(name: string, options: { readonly ago?: boolean } = {}): Date | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (options.ago === true && DURATION.test(text))
      return new Date(Date.now() - durationMs(text as Duration))
    const date = ISO.test(text) ? new Date(text) : new Date(Number.NaN)
    if (!Number.isNaN(date.getTime())) return date
    const ago = options.ago === true ? ', or a duration before now: 2h' : ''
    throw usage(`--${name} is ${quote(text)}; use a date like 2026-01-31T09:00:00Z${ago}.`)
  }
}

/** The milliseconds of a duration that {@link Arguments.duration} accepted. */
export function durationMs(duration: Duration): number {
  if (typeof duration === 'number') return duration
  const unit = /[a-z]+$/.exec(duration)?.[0] ?? 'ms'
  return Math.round(Number.parseFloat(duration) * (UNIT_MS[unit] ?? 1))
}

/** The fields that are defined. */
export function given<T extends object>(
  fields: T,
): { readonly [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
}

export function variableOf(flag: string): string {
  return `SKEP_${flag.replaceAll('-', '_').toUpperCase()}`
}

function assertShape(name: string, flag: Flag | undefined, values: readonly (string | undefined)[]): void {
  for (const value of values) {
    if (flag?.kind === 'switch' && value !== undefined) throw usage(`--${name} takes no value.`)
    if ((flag?.kind === 'text' || flag?.kind === 'list') && (value === undefined || value === '')) {
      throw usage(`--${name} needs a value: --${name} <${flag.value ?? 'value'}>.`)
    }
  }
}

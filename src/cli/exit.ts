/** Exit codes are for scripts: they tell what kind of thing happened without reading text. */
export const EXIT = {
  ok: 0,
  failure: 1,
  /** The command, a flag, a value or the config file is wrong: trying again does not help. */
  usage: 2,
  notFound: 3,
  /** It exists, but its present state does not allow this. */
  conflict: 4,
} as const

/** An error of the command line itself. `fix` says what to do. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exitCode: number
  readonly fix: string | undefined

  constructor(
    code: string,
    message: string,
    options: { readonly exitCode?: number; readonly fix?: string; readonly cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.exitCode = options.exitCode ?? EXIT.failure
    this.fix = options.fix
  }
}

/** The command was called wrongly. */
export function usage(message: string, fix?: string): CliError {
  return new CliError('USAGE', message, { exitCode: EXIT.usage, ...(fix === undefined ? {} : { fix }) })
}

export function notFound(message: string, fix?: string): CliError {
  return new CliError('NOT_FOUND', message, {
    exitCode: EXIT.notFound,
    ...(fix === undefined ? {} : { fix }),
  })
}

import { SkepError } from '../core/errors.ts'
import { show } from '../core/names.ts'

/** Where Skep logs. `console`, pino and winston all fit. */
export interface Logger {
  debug(message: string, facts?: object): void
  info(message: string, facts?: object): void
  warn(message: string, facts?: object): void
  error(message: string, facts?: object): void
}

const silent = (): void => {}

export const silentLogger: Logger = { debug: silent, info: silent, warn: silent, error: silent }

/** Warnings and errors on the console: the default. */
export const consoleLogger: Logger = {
  ...silentLogger,
  warn: (message, facts) => console.warn(`[skep] ${message}`, facts ?? ''),
  error: (message, facts) => console.error(`[skep] ${message}`, facts ?? ''),
}

/** Wraps a logger so that its exceptions are dropped. Rejects a value that is not a logger. */
export function harmless(logger: Logger): Logger {
  const missing = Object.keys(silentLogger).filter(
    (level) => typeof (logger as Partial<Logger> | null)?.[level as keyof Logger] !== 'function',
  )
  if (missing.length > 0) {
    throw new SkepError(
      'OPTION_INVALID',
      `logger is ${show(logger)} without ${missing.join(', ')}; use console, pino, winston, silentLogger, or an object with debug, info, warn and error.`,
      { facts: { name: 'logger', missing } },
    )
  }
  const safe =
    (level: keyof Logger) =>
    (message: string, facts?: object): void => {
      try {
        logger[level](message, facts)
      } catch {
        // There is nowhere left to report this.
      }
    }
  return { debug: safe('debug'), info: safe('info'), warn: safe('warn'), error: safe('error') }
}

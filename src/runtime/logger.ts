import { SkepError } from '../core/errors.ts'
import { show } from '../core/names.ts'

/** Where Skep says what it notices. `console`, pino and winston all fit. */
export interface Logger {
  debug(message: string, facts?: object): void
  info(message: string, facts?: object): void
  warn(message: string, facts?: object): void
  error(message: string, facts?: object): void
}

const silent = (): void => {}

/** Says nothing. */
export const silentLogger: Logger = { debug: silent, info: silent, warn: silent, error: silent }

/** Warnings and errors on the console, which is what a library should say when nobody asked. */
export const consoleLogger: Logger = {
  ...silentLogger,
  warn: (message, facts) => console.warn(`[skep] ${message}`, facts ?? ''),
  error: (message, facts) => console.error(`[skep] ${message}`, facts ?? ''),
}

/** The same logger, unable to harm its caller: what it throws is dropped. Refuses what is not a logger, which would log nothing. */
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
        // A logger that fails has nobody left to tell.
      }
    }
  return { debug: safe('debug'), info: safe('info'), warn: safe('warn'), error: safe('error') }
}

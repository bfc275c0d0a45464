import type { LogLevel } from '../core/notes.ts'

/** Writes one line. Fields are an object that JSON can hold; what it cannot is left out. */
export type WriteLine = (message: string, fields?: object) => void

/** Where a handler writes lines. It fits wherever a logger is taken, and may be called itself: that is `info`. */
export interface JobLog extends WriteLine, Readonly<Record<LogLevel, WriteLine>> {}

export function jobLog(write: (level: LogLevel, message: unknown, fields: unknown) => void): JobLog {
  const writer =
    (level: LogLevel): WriteLine =>
    (message, fields) =>
      write(level, message, fields)
  return Object.assign(writer('info'), {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  })
}

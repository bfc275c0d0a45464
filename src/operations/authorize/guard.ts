/**
 * What the server asks of whoever decides about access, and the one seam between the two: HTTP, gRPC and receivers know this file
 * and not how a guard does it.
 *
 * For each request: {@link Guard.identify} says who asks; the input is read; {@link Guard.authorize} lets it pass or throws; the
 * operation runs; and if it changes something, {@link Guard.audit} writes down how it ended, before the answer is sent. While a line
 * of the audit cannot be written, {@link Guard.authorize} refuses what would change something.
 */

import type { Caller } from '../operation.ts'
import type { Scope } from '../schema/inputs.ts'
import type { OperationName } from '../table.ts'

/** Where a request came from, as the socket says. */
export interface Remote {
  /** The address of the other end; null inside of the process, or where a framework does not tell. */
  readonly address: string | null
  /** Whether the connection to this process is encrypted. */
  readonly isEncrypted: boolean
}

/** What a guard must know of an operation. */
export interface Guarded {
  /** Of the operation, or what the address does that is none. */
  readonly name: string
  readonly scope: Scope
  /** Whether it changes something. */
  readonly isChange: boolean
  /** The queues that this call names: names, or patterns where holds are meant. */
  readonly queues: readonly string[]
  /** What it is done to, in words. */
  readonly target: string
}

/** One line of the audit, before it has an id and a time. */
export interface AuditNote {
  readonly caller: Caller
  readonly what: OperationName
  readonly scope: Scope
  /** The queues that the call named. */
  readonly queues: readonly string[]
  readonly target: string
  readonly outcome: 'ok' | 'refused' | 'failed'
  readonly detail: string | null
}

export interface Guard {
  /**
   * Who asks. A `Response` refuses and is sent as it is: for people who have to log in first. Throws `UNAUTHENTICATED` if there is
   * no credential or a wrong one, `FORBIDDEN` if the request itself is not acceptable (a foreign `Host`, another site's page),
   * and `TOO_MANY_REQUESTS`.
   */
  identify(request: Request, remote: Remote): Promise<Caller | Response>

  /** Lets a call pass, or throws `FORBIDDEN`; `NOT_FOUND` for a queue that the caller must not know of. */
  authorize(caller: Caller, call: Guarded): void

  /** Writes a line of the audit. If the store does not take it, it is kept and tried again: this does not reject. */
  audit(note: AuditNote): Promise<void>

  /** Headers that every answer carries, such as a content security policy; a page of the dashboard gets them too. */
  headers?(request: Request, remote: Remote): Readonly<Record<string, string>>

  /**
   * Told before a server opens a port, with the host that it listens on and whether it speaks https there. Rejects with
   * `SERVER_UNPROTECTED` if that must not be. A server that is mounted in another one is not told.
   */
  listen?(host: string, isEncrypted: boolean): Promise<void>

  /** Ends what it has opened. */
  close?(): Promise<void>
}

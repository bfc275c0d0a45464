import { SkepError } from '../../index.ts'
import type { InputOf, OperationName, revived, ServerClient, Wire } from '../../server.ts'

/** A server, and what makes dates of the moments in its answers. */
export interface Line {
  readonly client: ServerClient
  readonly revive: typeof revived
}

/** What an operation answers, as the library has it. */
export async function ask<T, Name extends OperationName>(
  { client, revive }: Line,
  name: Name,
  input: InputOf<Name>,
): Promise<T> {
  // An input that may be left out may be given too.
  const call = client.call.bind(client) as (name: Name, input: InputOf<Name>) => Promise<unknown>
  return revive<T>(name, (await call(name, input)) as Wire<T>)
}

/** The same; null if there is no such thing. */
export async function askOrNull<T, Name extends OperationName>(
  line: Line,
  name: Name,
  input: InputOf<Name>,
): Promise<T | null> {
  try {
    return await ask<T, Name>(line, name, input)
  } catch (error) {
    if (error instanceof SkepError && error.code === 'NOT_FOUND') return null
    throw error
  }
}

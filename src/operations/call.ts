import { type Skep, SkepError } from '../index.ts'
import type { Guard } from './authorize/guard.ts'
import { assertMayMatch } from './authorize/matching.ts'
import { withoutHiddenQueues } from './authorize/taken-ids.ts'
import type { Caller } from './operation.ts'
import type { Services } from './services.ts'
import type { ListedOperation, OperationName } from './table.ts'

/** What HTTP and gRPC need to call operations. */
export interface Callable {
  readonly guard: Guard
  readonly services: Services
  skepFor(space: string): Skep
  /** Called after each change made through this server. */
  onChange(space: string, name: OperationName): void
}

/** Reads the input, authorizes the call, runs the operation and writes the audit log. */
export async function callOperation(
  env: Callable,
  operation: ListedOperation,
  given: unknown,
  { caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal },
): Promise<unknown> {
  const input = operation.input.read(given, 'input')
  const target = operation.target(input)
  const { name, scope, isChange } = operation
  const queues = operation.queuesOf(input)
  const note = async (outcome: 'ok' | 'refused' | 'failed', detail: string | null): Promise<void> => {
    if (isChange) await env.guard.audit({ caller, what: name, scope, queues, target, outcome, detail })
  }
  try {
    env.guard.authorize(caller, { name, scope, isChange, queues, target })
    assertMayMatch(caller, operation.input, input, env.services.redactor)
  } catch (error) {
    await note('refused', wordsOf(error))
    throw error
  }
  let output: unknown
  try {
    const skep = env.skepFor(caller.space)
    const { redactionBudget, redactor, runtime, turns } = env.services
    // Stored data is untrusted: searching it for secrets must not block the process.
    const limited = redactor.limited?.(() => runtime.mono(), redactionBudget) ?? redactor
    const services = { ...env.services, redactor: limited }
    if (!isChange) await turns.next()
    output = await operation.run(input, { skep, caller, services, signal })
    // The caller serializes it next.
    if (!isChange) await turns.next()
  } catch (caught) {
    const error = withoutHiddenQueues(caller, caught)
    await note('failed', wordsOf(error))
    throw error
  }
  await note('ok', null)
  if (isChange) env.onChange(caller.space, name)
  return output
}

function wordsOf(error: unknown): string {
  return error instanceof SkepError ? `${error.code}: ${error.message}` : 'An unexpected error.'
}

/** The caller in the space that it selects, if it may. */
export function callerIn(caller: Caller, space: string | null): Caller {
  if (space === null || space === caller.space) return caller
  if (caller.spaces === '*' || caller.spaces?.includes(space)) return { ...caller, space }
  throw new SkepError('FORBIDDEN', `This credential is for the space "${caller.space}" only.`)
}

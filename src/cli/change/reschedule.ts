import { toMs } from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Flags } from '../command.ts'
import { usage } from '../exit.ts'
import { changeJobs } from './change.ts'

export const WHEN_FLAGS: Flags = {
  delay: { kind: 'text', value: '5m', help: 'For reschedule: due after this duration' },
  'run-at': { kind: 'text', value: 'date', help: 'For reschedule: due at this time (ISO 8601)' },
}

/** When jobs are due: --delay or --run-at. */
export function readWhen(args: Arguments): string {
  const delay = args.duration('delay')
  const at = args.moment('run-at')
  if (delay !== undefined && at !== undefined) throw usage('--delay and --run-at do not go together.')
  const when = delay === undefined ? at : new Date(Date.now() + toMs('delay', delay))
  if (when !== undefined) return when.toISOString()
  throw usage(
    'When should they be due?',
    'skep jobs reschedule <id…> --delay 10m, or --run-at 2027-01-31T09:00Z',
  )
}

/** Changes when waiting jobs are due. */
export function rescheduleJobs(call: Call, ids: readonly string[]): Promise<number> {
  const at = readWhen(call.args)
  return changeJobs(call, 'reschedule', {
    ids,
    prepare: async () => (target) => [{ ...target, at }],
  })
}

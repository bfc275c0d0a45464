import { toMs } from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Flags } from '../command.ts'
import { usage } from '../exit.ts'
import { changeJobs } from './change.ts'

export const WHEN_FLAGS: Flags = {
  delay: { kind: 'text', value: '5m', help: 'For reschedule: due so long from now' },
  'run-at': { kind: 'text', value: 'date', help: 'For reschedule: due at this moment (ISO 8601)' },
}

/** When jobs shall be due: --delay or --run-at. */
export function readWhen(args: Arguments): Date {
  const delay = args.duration('delay')
  const at = args.moment('run-at')
  if (delay !== undefined && at !== undefined) throw usage('--delay and --run-at do not go together.')
  const when = delay === undefined ? at : new Date(Date.now() + toMs('delay', delay))
  if (when !== undefined) return when
  throw usage(
    'When shall they be due?',
    'skep jobs reschedule <id…> --delay 10m, or --run-at 2027-01-31T09:00Z',
  )
}

/** Gives waiting jobs another moment. */
export function rescheduleJobs(call: Call, ids: readonly string[]): Promise<number> {
  const when = readWhen(call.args)
  return changeJobs(call, 'reschedule', {
    ids,
    prepare: async () => (skep, target) => skep.jobs.reschedule(target, when),
  })
}

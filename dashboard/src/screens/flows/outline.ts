import type { RunDetail } from '../../../../src/operations/schema/wire-types.ts'

/** Types of flows and runs, as the API returns them. */
export type FlowView = NonNullable<RunDetail['flow']>
export type StepOutline = NonNullable<FlowView['outline']>['steps'][number]
export type WorkOutline = Extract<StepOutline, { kind: 'step' }>['work']
export type JoinOutline = Extract<StepOutline, { kind: 'each' }>['join']
export type RunView = RunDetail['run']
export type RunStatus = RunView['status']
export type StepPosition = RunView['position']['steps'][number]

export const RUN_STATUSES: readonly RunStatus[] = ['running', 'done', 'failed', 'cancelled']

/** Describes when a step with several members completes. */
export function joinText({ need, failing }: JoinOutline): string {
  if (need === 'none') return 'continues when all have completed, whether they succeeded or failed'
  if (typeof need === 'number')
    return `continues when ${need === 1 ? 'the first is' : `the first ${need} are`} done, then cancels the others`
  return failing === 'first' ? 'fails on the first failure' : 'continues when all are done'
}

import type { RunDetail } from '../../../../src/operations/schema/wire-types.ts'

/** How flows and runs look on the wire. */
export type FlowView = NonNullable<RunDetail['flow']>
export type StepOutline = NonNullable<FlowView['outline']>['steps'][number]
export type WorkOutline = Extract<StepOutline, { kind: 'step' }>['work']
export type JoinOutline = Extract<StepOutline, { kind: 'each' }>['join']
export type RunView = RunDetail['run']
export type RunStatus = RunView['status']
export type Standing = RunView['position']['steps'][number]

export const RUN_STATUSES: readonly RunStatus[] = ['running', 'done', 'failed', 'cancelled']

/** When a step with several members is done, in words. */
export function joinText({ need, failing }: JoinOutline): string {
  if (need === 'none') return 'goes on when all have ended, well or badly'
  if (typeof need === 'number')
    return `goes on when ${need === 1 ? 'the first is' : `the first ${need} are`} done and cancels the others`
  return failing === 'first' ? 'fails at the first that is not done' : 'goes on when all are done'
}

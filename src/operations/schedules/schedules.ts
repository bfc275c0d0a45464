import {
  schedule as define,
  queue as queueOf,
  type ScheduleDefinition,
  type ScheduleOptions,
  type ScheduleView,
  SkepError,
  toMs,
} from '../../index.ts'
import { seen, sees, shownSchedule } from '../authorize/authorize-output.ts'
import { assertNoFlow, assertScheduleQuota, withinQuota } from '../jobs/quota.ts'
import { type Context, operation } from '../operation.ts'
import { duration, durationOf, id, paged, priority, queueName, reason } from '../schema/inputs.ts'
import { nextPage, type ScheduleSummary, said, schedule, slot } from '../schema/outputs.ts'
import {
  all,
  flag,
  invalid,
  json,
  moment,
  object,
  oneOf,
  optional,
  type TypeOf,
  text,
  whole,
} from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'
import { previewOf, wordsOf } from './slots.ts'

/** How many of its next slots are shown with a schedule. */
const NEXT = 10

export const schedulesList = operation({
  name: 'schedules.list',
  method: 'GET',
  path: '/schedules',
  summary: 'Lists schedules by id, with a description of each.',
  scope: 'read',
  input: object({
    ...paged,
    owner: optional(text({ max: 256, about: 'Only schedules declared by this owner.' })),
  }),
  output: object({ schedules: all(schedule), cursor: nextPage }),
  async run(input, context) {
    const page = await context.skep.schedules.list(input)
    const mine = page.schedules.filter(({ queue }) => sees(context.caller, queue))
    const schedules = await context.services.turns.map(mine, (one) => summaryOf(context, one))
    return { schedules, cursor: page.cursor }
  },
})

export const schedulesGet = operation({
  name: 'schedules.get',
  method: 'GET',
  path: '/schedules/:id',
  summary: 'Returns a schedule and its next slots, with clock changes marked.',
  scope: 'read',
  input: object({
    id: id('a schedule'),
    count: optional(whole({ min: 1, max: 1_000, about: 'The number of slots. Default: 10.' })),
  }),
  output: object({ schedule, next: all(slot) }),
  async run(input, context) {
    const found = await visible(context, input.id)
    const slots = await context.skep.schedules.preview(found.id, input.count ?? NEXT)
    return {
      schedule: summaryOf(context, found),
      next: previewOf(slots, found.cron?.timeZone ?? 'UTC', context.services.runtime.now()),
    }
  },
})

const timing = {
  cron: optional(
    text({ max: 256, about: 'Five fields, six with seconds first, or a shortcut such as @daily.' }),
  ),
  timeZone: optional(text({ max: 64, about: 'Time zone of the expression. Default: UTC.' })),
  every: optional(duration),
} as const

const definition = object({
  id: id('a schedule'),
  queue: queueName,
  ...timing,
  payload: optional(json('The payload of each job.')),
  from: optional(oneOf(['grid', 'last-run'], 'What an interval counts from. Default: grid.')),
  missed: optional(oneOf(['skip', 'once', 'all'])),
  /** How late a slot may still fire. */
  grace: optional(duration),
  overlap: optional(oneOf(['allow', 'skip', 'replace'])),
  jitter: optional(duration),
  startAt: optional(moment('No slot before this.')),
  endAt: optional(moment('No slot after this.')),
  priority: optional(priority),
})

export const schedulesPut = operation({
  name: 'schedules.put',
  method: 'PUT',
  path: '/schedules/:id',
  summary: 'Creates a schedule, or changes one that was created at run time.',
  scope: 'operate',
  input: definition,
  output: schedule,
  queuesOf: ({ queue }) => [queue],
  target: (input) => `schedule ${input.id}`,
  async run(input, context) {
    const { skep, caller } = context
    const before = await skep.schedules.get(input.id)
    if (before !== null) seen(caller, `schedule "${input.id}"`, before)
    else await assertScheduleQuota(context)
    if (before?.queue !== input.queue) assertNoFlow(input.queue)
    context.services.quotas.assertPayloads(skep.space, [input])
    return summaryOf(context, await skep.schedules.put(definitionOf(input)))
  },
})

export const schedulesPause = operation({
  name: 'schedules.pause',
  method: 'POST',
  path: '/schedules/:id/pause',
  summary: 'Pauses a schedule.',
  scope: 'operate',
  input: object({ id: id('a schedule'), reason: optional(reason) }),
  output: schedule,
  target: (input) => `schedule ${input.id}`,
  async run(input, context) {
    await visible(context, input.id)
    const why = input.reason === undefined ? {} : { reason: input.reason }
    await context.skep.schedules.pause(input.id, { by: context.caller.name, ...why })
    return summaryOf(context, await visible(context, input.id))
  },
})

export const schedulesResume = operation({
  name: 'schedules.resume',
  method: 'POST',
  path: '/schedules/:id/resume',
  summary: 'Resumes a paused schedule from its next slot.',
  scope: 'operate',
  input: object({ id: id('a schedule') }),
  output: schedule,
  target: (input) => `schedule ${input.id}`,
  async run(input, context) {
    await visible(context, input.id)
    await context.skep.schedules.resume(input.id)
    return summaryOf(context, await visible(context, input.id))
  },
})

export const schedulesRun = operation({
  name: 'schedules.run',
  method: 'POST',
  path: '/schedules/:id/run',
  summary: 'Enqueues a job of a schedule now, in addition to its slots.',
  scope: 'operate',
  input: object({ id: id('a schedule') }),
  output: object({ id: said, duplicate: flag() }),
  target: (input) => `schedule ${input.id}`,
  async run(input, context) {
    const coming = [await visible(context, input.id)]
    const handle = await withinQuota(context, coming, () => context.skep.schedules.runNow(input.id))
    return { id: handle.id, duplicate: handle.duplicate }
  },
})

export const schedulesRemove = operation({
  name: 'schedules.remove',
  method: 'DELETE',
  path: '/schedules/:id',
  summary: 'Removes a schedule. Its jobs are kept.',
  scope: 'operate',
  input: object({
    id: id('a schedule'),
    force: optional(flag('Also a schedule declared in code; it is created again at the next start.')),
  }),
  output: object({}),
  target: (input) => `schedule ${input.id}`,
  async run(input, context) {
    await visible(context, input.id)
    await context.skep.schedules.remove(input.id, input.force === undefined ? {} : { force: input.force })
    return {}
  },
})

export const schedulesPreview = operation({
  name: 'schedules.preview',
  method: 'GET',
  path: '/schedules-preview',
  summary: 'Describes an expression or an interval, and returns its next slots.',
  scope: 'read',
  input: object({ ...timing, count: optional(whole({ min: 1, max: 1_000 })) }),
  output: object({ words: said, next: all(slot) }),
  async run({ count = NEXT, ...input }, { skep, services }) {
    const slots = await skep.schedules.preview(
      definitionOf({ id: 'preview', queue: 'preview', ...input }),
      count,
    )
    const timeZone = input.timeZone ?? 'UTC'
    const cron = input.cron === undefined ? null : { expression: input.cron, timeZone }
    const every =
      input.every === undefined
        ? null
        : { ms: toMs('every', durationOf('every', input.every)), from: 'grid' as const }
    return { words: wordsOf({ cron, every }), next: previewOf(slots, timeZone, services.runtime.now()) }
  },
})

function definitionOf(input: TypeOf<typeof definition>): ScheduleDefinition {
  const { id: name, queue, cron, timeZone, every, jitter, grace, startAt, endAt, ...rest } = input
  if ((cron === undefined) === (every === undefined)) {
    throw new SkepError('OPTION_INVALID', 'A schedule needs either cron or every.', {
      facts: { path: 'cron' },
    })
  }
  if (every !== undefined && timeZone !== undefined)
    throw invalid('timeZone', 'left out where there is no cron')
  const when =
    cron === undefined
      ? { every: durationOf('every', every as string) }
      : { cron, ...(timeZone === undefined ? {} : { timeZone }) }
  const options = {
    ...rest,
    payload: (rest.payload ?? {}) as object,
    queue: queueOf(queue),
    ...when,
    ...(jitter === undefined ? {} : { jitter: durationOf('jitter', jitter) }),
    ...(grace === undefined ? {} : { grace: durationOf('grace', grace) }),
    ...(startAt === undefined ? {} : { startAt: new Date(startAt) }),
    ...(endAt === undefined ? {} : { endAt: new Date(endAt) }),
  }
  return define(name, options as ScheduleOptions)
}

async function visible({ skep, caller }: Context, name: string): Promise<ScheduleView> {
  return seen(caller, `schedule "${name}"`, await skep.schedules.get(name))
}

function summaryOf(context: Context, view: ScheduleView): ScheduleSummary {
  return { ...toWire(shownSchedule(context, view)), words: wordsOf(view) }
}

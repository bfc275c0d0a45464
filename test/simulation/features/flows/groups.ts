import { all, failFast, first, type JobDraft, settled } from '../../../../src/index.ts'
import type { Random } from '../../../../src/testing.ts'
import type { Trial } from '../../trial.ts'
import { QUEUES } from './queues.ts'

export function draftOf(queue: string, payload: object = {}): JobDraft {
  const of = QUEUES[queue]
  if (!of) throw new Error(`There is no queue ${queue}.`)
  return of.job({ ...payload })
}

export function drawMembers(random: Random): JobDraft[] {
  return Array.from({ length: random.int(0, 4) }, (_, n) =>
    draftOf(random.pick(['part', 'swift', 'frail', 'flat']), { n }),
  )
}

/** Jobs that depend on jobs, without a flow. */
export function enqueueGroup(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const { groups } = app.skep
  const members = drawMembers(random)
  const follow = (): JobDraft => draftOf('joined')
  switch (random.pick(['group', 'chord', 'chain', 'batch', 'spawn'] as const)) {
    case 'group': {
      const count = random.int(1, Math.max(1, members.length))
      const join = random.pick([all, settled, failFast, ...(members.length > 0 ? [first(count)] : [])])
      app.track(groups.group(members, { join, next: follow(), onFailure: follow(), onComplete: follow() }))
      return
    }
    case 'chord':
      app.track(groups.chord(members, follow()))
      return
    case 'chain':
      app.track(groups.chain([draftOf('part'), ...members, follow()]))
      return
    case 'batch':
      app.track(groups.batch(members, { onSuccess: follow(), onComplete: follow(), onDeath: follow() }))
      return
    case 'spawn':
      app.track(groups.group([draftOf('part', { spawns: true })]))
  }
}

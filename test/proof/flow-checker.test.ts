import { describe, expect, it } from 'vitest'
import { NEEDS_ALL, OPEN } from '../../src/core/flows/groups.ts'
import { signalGroup } from '../../src/flows/signals.ts'
import { groupsFireOnce } from './checker/flows/groups.ts'
import { undoneStaysUndone } from './checker/flows/retries.ts'
import { runsFollowTheirShape } from './checker/flows/runs.ts'
import { FlowStory } from './checker/flows/story.ts'
import { viewOf } from './checker/view.ts'
import type { Part } from './flows/shape.ts'
import type { Violation } from './history.ts'

const step = (name: string, undo = false): Part => ({
  kind: 'step',
  name,
  work: { queue: 'mail' },
  as: null,
  isSmall: false,
  undo,
})
const squares: Part = {
  kind: 'each',
  name: 'squares',
  work: { queue: 'mail' },
  items: 2,
  join: 'all',
  need: 0,
}
const S1 = { n: 1 }
const S2 = { n: 1, a: 1 }
const S3 = { n: 1, a: 1, b: 2 }

/** Two steps, one after the other, up to where the second has begun. */
const second = (undo = false): FlowStory =>
  new FlowStory([step('a', undo), step('b')])
    .move(S1, 'g1')
    .group('g1')
    .done('g1', { a: 1 })
    .move(S2, 'g2', { done: undo ? ['a'] : [] })
    .group('g2', { payloads: [S2] })

const two = (): FlowStory => second().done('g2', { b: 2 }).ends(S3)

/** The second step has failed, and there is nothing to undo. */
const failed = (): FlowStory =>
  second().end('g2', 0, 'dead').fire('g2', 'failure').move(S2, 'g2', { status: 'failed', failure: '"boom"' })

const FAILED = { failing: true, status: 'failed', failure: '"boom"' } as const
const UNDO = { queue: 'undone', payloads: [{ a: 1 }], need: 0, events: ['settled'] } as const

/** The second step has failed, and the first is undone. */
const undoing = (undos: readonly string[] = []): FlowStory =>
  second(true)
    .end('g2', 0, 'dead')
    .fire('g2', 'failure')
    .move(S2, 'u', { failing: true, undos })
    .group('u', UNDO)

const undone = (): FlowStory =>
  undoing()
    .end('u', 0)
    .fire('u', 'settled')
    .move(S2, null, { failing: true, status: 'failed', failure: '"boom"' })

const fan = (payloads: readonly unknown[] = [{ n: 0 }, { n: 1 }]): FlowStory =>
  new FlowStory([squares]).move(S1, 'g1').group('g1', { payloads })

const SIGNAL = signalGroup('r', 'go', 0)
const waiting = (): FlowStory =>
  new FlowStory([{ kind: 'signal', name: 'go', timeoutMs: null }])
    .move(S1, SIGNAL)
    .group(SIGNAL, { payloads: [], size: 1, failing: 'hopeless', events: ['success'] })

const sleeping = (): FlowStory => new FlowStory([{ kind: 'sleep', ms: 10 }]).move(S1, 'm')

/** A run that is done, and beside it an open group that two have joined. */
function open(): FlowStory {
  const telling = { size: OPEN, need: NEEDS_ALL, events: ['success', 'failure'], run: null } as const
  return two().group('o', { ...telling, payloads: [{ n: 1 }, { n: 2 }] })
}

function judge(story: FlowStory): readonly Violation[] {
  const view = viewOf(story.history())
  return [...groupsFireOnce(view), ...runsFollowTheirShape(view), ...undoneStaysUndone(view)]
}

describe('the checker of flows accepts', () => {
  const good: Record<string, () => FlowStory> = {
    'two steps': two,
    'a run that undoes what it did': undone,
    'many at the same time': () => {
      const s = fan().end('g1', 1, 'done', 20).end('g1', 0, 'done', 10).fire('g1', 'success')
      return s.ends({ n: 1, squares: [10, 20] })
    },
    'a signal': () => waiting().tell(SIGNAL, 'yes').fire(SIGNAL, 'success').ends({ n: 1, go: 'yes' }),
    'a sleep': () => sleeping().ends(S1),
    'a result that somebody waited for': () => {
      const s = two()
      s.results.push({ run: 'r', value: JSON.stringify(S3) })
      return s
    },
    'a call of which nothing is there, and one of which all is': () => {
      const s = two()
      s.calls.push({ runs: ['r'], groups: ['g1'], jobs: ['g1.0'] }, { runs: ['x'], groups: [], jobs: ['y'] })
      return s
    },
    'an open group that fires when it is sealed': () =>
      open().end('o', 0).end('o', 1, 'dead').seal('o').fire('o', 'failure'),
    'an open group that fires when the last has ended after its seal': () =>
      open().end('o', 0).seal('o').end('o', 1).fire('o', 'success'),
    'a retry of the job that a failed run waits for': () =>
      failed().retry('g2').done('g2', { b: 2 }).ends(S3),
    'a retry of a job that undoes': () =>
      undoing(['u']).end('u', 0, 'dead').retry('u').end('u', 0).fire('u', 'settled').move(S2, null, FAILED),
    'a member that was done and dies, after its group has succeeded': () => {
      const s = two()
      s.jobs.change('g2.0', { state: 'ready', result: null, finishedAt: null })
      s.jobs.change('g2.0', { state: 'dead', result: null, finishedAt: s.jobs.now })
      return s
    },
  }
  for (const [name, tell] of Object.entries(good)) it(name, () => expect(judge(tell())).toEqual([]))
})

describe('the checker of flows rejects', () => {
  /** What it has to say, and a story of which it has to say that and nothing else. */
  const bad: Record<string, readonly [kind: Violation['kind'], says: string, tell: () => FlowStory]> = {
    'a group that fires twice': [
      'join-duplicate',
      'fired 2 times',
      () => {
        const s = two()
        s.jobs.change('g1 success', null).change('g1 success', { queue: 'flow:f', state: 'ready', dueAt: 0 })
        return s
      },
    ],
    'a retry of a job of a run that was undone': [
      'terminal-left',
      'It was retried although run r is undone',
      () => undone().retry('g2'),
    ],
    'a retry of a job of a run that is about to be undone': [
      'terminal-left',
      'It was retried although run r is about to be undone',
      () => {
        const s = second(true).end('g2', 0, 'dead').fire('g2', 'failure').retry('g2').end('g2', 0, 'dead')
        s.move(S2, 'u', { failing: true }).group('u', UNDO).end('u', 0).fire('u', 'settled')
        return s.move(S2, null, FAILED)
      },
    ],
    'a retry of a job of a run that was cancelled': [
      'terminal-left',
      'It was retried although run r was cancelled',
      () => {
        const s = second().end('g2', 0, 'cancelled').fire('g2', 'failure')
        return s.move(S2, 'g2', { status: 'cancelled' }).retry('g2')
      },
    ],
    'a retry of a job of a step that is over': [
      'terminal-left',
      'It was retried although run r does not wait for it',
      () => {
        const s = second()
        s.jobs.retry('g1.0')
        return s.done('g2', { b: 2 }).ends(S3)
      },
    ],
    'a group that fires before its last member has ended': [
      'join-early',
      'It fired with 1 done and 0 not',
      () => {
        const s = fan().end('g1', 0, 'done', 10).fire('g1', 'success').end('g1', 1, 'done', 20)
        return s.ends({ n: 1, squares: [10, 20] })
      },
    ],
    'an open group that fires before it is sealed': [
      'join-early',
      'It fired with 2 done and 0 not before it was sealed',
      () => open().end('o', 0).end('o', 1).fire('o', 'success').seal('o'),
    ],
    'a group that somebody joined after its seal': [
      'miscounted',
      '2 joined it, 1 before the seal',
      () => {
        const s = open().end('o', 0).seal('o').fire('o', 'success').end('o', 1)
        s.seals.set('o', { n: s.seals.get('o')?.n ?? 0, size: 1 })
        return s
      },
    ],
    'a failure that is told although all are done': [
      'join-early',
      'It fired with 1 done and 0 not',
      () => two().fire('g2', 'failure'),
    ],
    'a group that never fires': [
      'join-stuck',
      'It never fired',
      () => second().end('g2', 0, 'done', { b: 2 }).move(S2, 'g2', { status: 'cancelled' }),
    ],
    'a group that does not know that it has fired': [
      'join-stuck',
      'is due and has not fired',
      () => {
        const s = two()
        s.fired.set('g2', [])
        return s
      },
    ],
    'a group that had to be mended': [
      'join-stuck',
      'The audit had to mend it',
      () => {
        const s = two()
        s.mended.push('g1')
        return s
      },
    ],
    'a group that is gone': [
      'lost',
      'The group is gone',
      () => {
        const s = two()
        s.forgotten.add('g1')
        return s
      },
    ],
    'a result that is kept wrongly': [
      'wrong-result',
      'kept as done',
      () => {
        const s = two()
        s.outcomes.set('g1', [{ n: 0, id: 'g1.0', state: 'done', result: '{"a":2}', failure: null }])
        return s
      },
    ],
    'half of what was made together': [
      'not-atomic',
      'Of 2 things that were made together 1 are there',
      () => {
        const s = two()
        s.calls.push({ runs: ['r'], groups: ['gone'], jobs: [] })
        return s
      },
    ],
    'a state without what a step gave': [
      'wrong-result',
      'Nothing that step b gave is in its state',
      () => second().done('g2', { b: 2 }).ends(S2),
    ],
    'a state with more than the steps gave': [
      'wrong-result',
      'has the state',
      () =>
        second()
          .done('g2', { b: 2 })
          .ends({ ...S3, c: 3 }),
    ],
    'results in another order': [
      'wrong-result',
      'squares',
      () => {
        const s = fan().end('g1', 0, 'done', 10).end('g1', 1, 'done', 20).fire('g1', 'success')
        return s.ends({ n: 1, squares: [20, 10] })
      },
    ],
    'a job with another payload than the state': [
      'wrong-result',
      'has another member 0 than it shall',
      () =>
        new FlowStory([step('a')])
          .move(S1, 'g1')
          .group('g1', { payloads: [S3] })
          .done('g1', {})
          .ends(S1),
    ],
    'a job of another queue': [
      'wrong-result',
      'has another member 0 than it shall',
      () => new FlowStory([step('a')]).move(S1, 'g1').group('g1', { queue: 'fast' }).done('g1', {}).ends(S1),
    ],
    'fewer jobs than items': [
      'wrong-result',
      'waits for 1 of 1',
      () =>
        fan([{ n: 0 }])
          .done('g1', 10)
          .ends({ n: 1, squares: [10] }),
    ],
    'a join of another kind': [
      'wrong-result',
      'waits for 1 of 1 (first)',
      () =>
        new FlowStory([step('a')]).move(S1, 'g1').group('g1', { failing: 'first' }).done('g1', {}).ends(S1),
    ],
    'a run that goes on before its step is done': [
      'wrong-result',
      'moved on without the success or settled of g1',
      () => {
        const s = new FlowStory([step('a')]).move(S1, 'g1').group('g1').ends(S2)
        return s.done('g1', { a: 1 })
      },
    ],
    'a run that ends before its last step': [
      'wrong-result',
      'is done before its end',
      () => new FlowStory([step('a'), step('b')]).move(S1, 'g1').group('g1').done('g1', { a: 1 }).ends(S2),
    ],
    'a run that makes nothing to wait for': [
      'wrong-result',
      'has nothing to wait for at a work',
      () => new FlowStory([step('a')]).move(S1, 'g1').move(S1, null, { status: 'cancelled' }),
    ],
    'a run that gives something else than its state': [
      'wrong-result',
      'gave',
      () => second().done('g2', { b: 2 }).ends(S3, { result: '{"b":3}' }),
    ],
    'a result that the run never had': [
      'wrong-result',
      'Somebody was given',
      () => {
        const s = two()
        s.results.push({ run: 'r', value: '{"b":3}' })
        return s
      },
    ],
    'a group where it shall sleep': [
      'wrong-result',
      'waits for a group where it shall sleep',
      () => sleeping().group('g1').done('g1', {}).ends(S1),
    ],
    'a signal that was never sent': [
      'wrong-result',
      'was told "no" by signal go',
      () => waiting().tell(SIGNAL, 'yes').fire(SIGNAL, 'success').ends({ n: 1, go: 'no' }),
    ],
    'a signal that was waited for before': [
      'wrong-result',
      'waits for something else than signal go',
      () => {
        const other = signalGroup('r', 'go', 1)
        const s = new FlowStory([{ kind: 'signal', name: 'go', timeoutMs: null }]).move(S1, other)
        s.group(other, { payloads: [], size: 1, failing: 'hopeless', events: ['success'] })
        return s.tell(other, 'yes').fire(other, 'success').ends({ n: 1, go: 'yes' })
      },
    ],
    'a failed run that undoes nothing': [
      'wrong-result',
      'does not undo a',
      () => {
        const s = second(true).end('g2', 0, 'dead').fire('g2', 'failure')
        return s.move(S2, null, { failing: true, status: 'failed', failure: '"boom"' })
      },
    ],
    'an undo of something else': [
      'wrong-result',
      'does not undo a',
      () => {
        const s = second(true).end('g2', 0, 'dead').fire('g2', 'failure').move(S2, 'u', { failing: true })
        s.group('u', { queue: 'undone', payloads: [{ a: 2 }], need: 0, events: ['settled'] })
        return s.end('u', 0).fire('u', 'settled').move(S2, null, { failing: true, status: 'failed' })
      },
    ],
    'a run that has failed before its undo has ended': [
      'wrong-result',
      'moved on without the settled of u',
      () => {
        const s = undoing().move(S2, null, { failing: true, status: 'failed', failure: '"boom"' })
        return s.end('u', 0).fire('u', 'settled')
      },
    ],
    'a run that goes on after it has undone what it did': [
      'wrong-result',
      'is done after it failed',
      () => undoing().end('u', 0).fire('u', 'settled').ends(S2),
    ],
    'a run that fails without a failure': [
      'wrong-result',
      'moved on without the failure of g2',
      () => second().done('g2', { b: 2 }).move(S2, null, { failing: true, status: 'failed' }),
    ],
    'a run that runs in the end': ['join-stuck', 'It is running in the end', sleeping],
    'a failed run whose step has succeeded': [
      'join-stuck',
      'what it waited for has succeeded',
      () => {
        const s = second().end('g2', 0, 'dead').fire('g2', 'failure')
        s.move(S2, 'g2', { status: 'failed', failure: '"boom"' }).jobs.begin('g2.0')
        s.outcomes.set('g2', [])
        return s.end('g2', 0, 'done', { b: 2 }).fire('g2', 'success')
      },
    ],
  }

  for (const [name, [kind, says, tell]] of Object.entries(bad)) {
    it(`${kind}: ${name}`, () => {
      const found = judge(tell())

      const text = found.map((one) => `${one.kind}: ${one.message}`).join('\n')
      expect([...new Set(found.map((one) => one.kind))], text).toEqual([kind])
      expect(text).toContain(says)
    })
  }

  it('counts that are not those of the members', () => {
    const s = two()
    const { flows, ...rest } = s.history()
    const kept = flows?.final.get('g1')
    if (!flows || !kept) throw new Error('There are no flows.')
    const wrong = { ...kept, group: { ...kept.group, done: 2 } }
    const view = viewOf({ ...rest, flows: { ...flows, final: new Map([...flows.final, ['g1', wrong]]) } })

    expect([...groupsFireOnce(view)].map(({ kind }) => kind)).toEqual(['miscounted'])
  })
})

import type { Hold } from '../../../core/lanes/holds.ts'
import type { HoldStore } from '../../../store/holds.ts'
import type { LimitFields, LimitRecord, LimitStore, LimitTarget } from '../../../store/limits.ts'
import { listOf, numberOf, type Reply, textOf, toUuid } from '../connection/bytes.ts'
import type { Caller } from '../connection/caller.ts'

/** Holds and limits. */
export function ruleCalls(caller: Caller): HoldStore & LimitStore {
  return {
    async hold({ holds, now }) {
      const put = listOf(await caller.call('hold', [JSON.stringify(holds)], now))
      return { holds: put.map(holdOf) }
    },

    async release({ holds, now }) {
      const released = listOf(await caller.call('release', [JSON.stringify(holds)], now))
      return { released: released.map((one) => numberOf(one) === 1) }
    },

    async holds({ space, now }) {
      const all = listOf(await caller.call('listHolds', [], now))
        .map((value) => JSON.parse(textOf(value)) as { readonly n: number })
        .sort((a, b) => a.n - b.n)
        .map((value) => holdIn(value as unknown as StoredHold))
      return {
        holds: all.filter((hold) => space === undefined || hold.space === null || hold.space === space),
      }
    },

    async setLimits({ space, limits, now }) {
      const said = listOf(await caller.call('setLimits', [JSON.stringify({ space, limits })], now))
      return { limits: said.map(limitOf) }
    },

    async limits({ space, queue }) {
      const all = listOf(await caller.call('limits', [space])).map(limitOf)
      const chosen = all.filter(
        ({ target }) => queue === undefined || ('queue' in target && target.queue === queue),
      )
      return { limits: chosen.sort((a, b) => (keyOf(a.target) < keyOf(b.target) ? -1 : 1)) }
    },

    async lanes(call) {
      const { space, queue, lanes, limit, after } = call
      const args = [JSON.stringify({ space, queue, lanes, limit, after })]
      const [now, line, shared, all] = listOf(await caller.call('lanes', args, call.now))
      return {
        lanes: listOf(all).map((row) => {
          const [lane, running, startsAt, occupant] = listOf(row)
          const id = occupant as Buffer
          return {
            lane: textOf(lane),
            running: numberOf(running),
            startsAt: numberOf(startsAt),
            occupant: id.length === 0 ? null : toUuid(id),
          }
        }),
        queue: meterOf(line),
        shared: meterOf(shared),
        now: numberOf(now),
      }
    },
  }
}

interface StoredHold extends Omit<Hold, 'until'> {
  readonly till?: number
}

function holdOf(value: Reply): Hold {
  return holdIn(JSON.parse(textOf(value)) as StoredHold)
}

function holdIn({ kind, space, queue, lane, reason, by, since, till }: StoredHold): Hold {
  return {
    kind,
    space: space ?? null,
    queue: queue ?? null,
    lane: lane ?? null,
    reason: reason ?? null,
    by: by ?? null,
    since,
    until: till ?? null,
  }
}

function limitOf(value: Reply): LimitRecord {
  const said = JSON.parse(textOf(value)) as {
    readonly target: LimitTarget
    readonly declared: LimitFields | null
    readonly changed: LimitFields | null
  }
  return { target: targetOf(said.target), declared: said.declared, changed: said.changed }
}

function meterOf(reply: Reply | undefined): { readonly running: number; readonly startsAt: number } | null {
  const [running, startsAt] = listOf(reply)
  return running === undefined ? null : { running: numberOf(running), startsAt: numberOf(startsAt) }
}

/** With its fields in the usual order, which the script does not keep. */
function targetOf(target: LimitTarget): LimitTarget {
  if ('shared' in target) return target
  const { queue, lane } = target
  return lane === undefined ? { queue } : { queue, lane }
}

/** In the order of the other stores: queues and their lanes, then what is shared. */
function keyOf(target: LimitTarget): string {
  return JSON.stringify('shared' in target ? [1, target.shared] : [0, target.queue, target.lane ?? null])
}

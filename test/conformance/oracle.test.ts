import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { generateCommands, replayCommands, runOracle } from '../../src/testing.ts'

/** Stores with one fault each. The oracle is worth as much as the faults it finds. */
const FAULTS: Readonly<Record<string, (store: Store) => Partial<Store>>> = {
  'hands a leased job to a second worker': (store) => {
    let last: Awaited<ReturnType<Store['claim']>>['jobs'][number] | undefined
    return {
      claim: async (call) => {
        const reply = await store.claim(call)
        const jobs = last && !call.ids ? [...reply.jobs, last] : reply.jobs
        last = reply.jobs[0]
        return { ...reply, jobs }
      },
    }
  },
  'accepts every settlement': (store) => ({
    settle: async (call) => {
      const reply = await store.settle(call)
      return { ...reply, results: reply.results.map(() => ({ status: 'ok', state: 'done' })) }
    },
  }),
  'refuses a settlement that is repeated': (store) => {
    const seen = new Set<string>()
    return {
      settle: async (call) => {
        const reply = await store.settle(call)
        return {
          ...reply,
          results: reply.results.map((result, n) => {
            const lease = `${call.settlements[n]?.id} ${call.settlements[n]?.token}`
            const isRepeat = result.status === 'ok' && seen.has(lease)
            if (result.status === 'ok') seen.add(lease)
            return isRepeat ? { status: 'refused', reason: 'lost' } : result
          }),
        }
      },
    }
  },
  'takes a rescuer for the holder': (store) => ({
    settle: (call) =>
      store.settle({
        ...call,
        settlements: call.settlements.map((settlement) => ({ ...settlement, rescue: false })),
      }),
  }),
  'brings back removed jobs': (store) => ({
    insert: (call) => store.insert({ ...call, again: false }),
  }),
  'forgets what a handler enqueued': (store) => ({
    settle: (call) =>
      store.settle({
        ...call,
        settlements: call.settlements.map((settlement) => ({ ...settlement, enqueue: [] })),
      }),
  }),
  'inserts what was enqueued by a refused settlement': (store) => ({
    settle: async (call) => {
      const reply = await store.settle(call)
      const jobs = call.settlements.flatMap(({ enqueue }, n) =>
        reply.results[n]?.status === 'refused' ? (enqueue ?? []) : [],
      )
      await store.insert({ jobs, now: call.now ?? 0 })
      return reply
    },
  }),
  'starts a job a millisecond early': (store) => ({
    claim: (call) => store.claim({ ...call, now: (call.now ?? 0) + 1 }),
  }),
  'gives the highest rank first': (store) => ({
    claim: async (call) => {
      const reply = await store.claim(call)
      return { ...reply, jobs: reply.jobs.toReversed() }
    },
  }),
  'forgets the unique keys': (store) => ({
    insert: (call) => store.insert({ ...call, jobs: call.jobs.map((job) => ({ ...job, unique: null })) }),
  }),
  'compares keys without regard to case': (store) => ({
    insert: (call) =>
      store.insert({
        ...call,
        jobs: call.jobs.map((job) => ({
          ...job,
          unique: job.unique && { ...job.unique, key: job.unique.key.toLowerCase() },
        })),
      }),
  }),
  'inserts a discarded job anew when the call is repeated': (store) => ({
    insert: (call) => store.insert({ ...call, again: false }),
  }),
  'reads JSON and writes it anew': (store) => ({
    insert: (call) =>
      store.insert({
        ...call,
        jobs: call.jobs.map((job) => ({ ...job, payload: JSON.stringify(JSON.parse(job.payload)) })),
      }),
  }),
  'counts a job that is not there': (store) => ({
    counts: async (call) => {
      const { queues, now } = await store.counts(call)
      return {
        now,
        queues: queues.map((entry) => ({
          ...entry,
          states: { ...entry.states, done: entry.states.done + 1 },
        })),
      }
    },
  }),
  'prunes what has not expired': (store) => ({
    prune: (call) => store.prune({ ...call, now: (call.now ?? 0) + 500 }),
  }),
  'rescues what is still leased': (store) => ({
    settle: (call) =>
      store.settle({
        ...call,
        settlements: call.settlements.map((settlement) => ({ ...settlement, onlyIfExpired: false })),
      }),
  }),
  'forgets that a job was asked to stop': (store) => ({
    extend: async (call) => {
      const { results } = await store.extend(call)
      return {
        results: results.map((result) =>
          result.status === 'ok' ? { ...result, cancelReason: null } : result,
        ),
      }
    },
  }),
  'retries into the same generation': (store) => {
    const raised = new Set<string>()
    return {
      change: async (call) => {
        const reply = await store.change(call)
        if (call.action === 'retry')
          for (const { id, status } of reply.results) if (status === 'ok') raised.add(id)
        return reply
      },
      get: async (call) => {
        const { jobs } = await store.get(call)
        return {
          jobs: jobs.map((job) => job && { ...job, generation: raised.has(job.id) ? 0 : job.generation }),
        }
      },
    }
  },
  'repeats the last job of a page on the next': (store) => ({
    list: async (call) => {
      const page = await store.list(call)
      if (call.cursor === null || page.jobs.length === 0) return page
      return { ...page, jobs: [page.jobs[0] as (typeof page.jobs)[number], ...page.jobs] }
    },
  }),
  'moves a run whatever its revision': (store) => ({
    moveRuns: async (call) => {
      const moves = []
      for (const move of call.moves) {
        const { runs } = await store.getRuns({ space: move.space, ids: [move.id] })
        moves.push({ ...move, revision: runs[0]?.revision ?? move.revision })
      }
      return store.moveRuns({ ...call, moves })
    },
  }),
  'forgets what the settlement of a job does to a run': (store) => ({
    settle: (call) =>
      store.settle({ ...call, settlements: call.settlements.map(({ move: _move, ...rest }) => rest) }),
  }),
  'does not listen before a group is made': (store) => ({
    tell: async (call) => {
      const { groups } = await store.getGroups({ space: call.space, ids: [call.group] })
      return groups[0] ? store.tell(call) : { status: 'ok', enqueued: [] }
    },
  }),
  'makes groups that enqueue nothing': (store) => ({
    insert: (call) =>
      store.insert({ ...call, groups: (call.groups ?? []).map((group) => ({ ...group, jobs: {} })) }),
    getGroups: async (call) => {
      const { groups } = await store.getGroups(call)
      return { groups: groups.map((group) => group && { ...group, jobs: {} }) }
    },
  }),
  'does not say what groups have enqueued': (store) => ({
    settle: async (call) => {
      const { enqueued: _enqueued, ...reply } = await store.settle(call)
      return reply
    },
  }),
  'shows branches among the runs': (store) => ({
    listRuns: (call) => store.listRuns({ ...call, branches: true }),
  }),
  'forgets that a group has fired': (store) => ({
    getGroups: async (call) => {
      const { groups } = await store.getGroups(call)
      return { groups: groups.map((group) => group && { ...group, fired: [] }) }
    },
  }),
  'counts a member that has not ended': (store) => ({
    getGroups: async (call) => {
      const { groups } = await store.getGroups(call)
      return { groups: groups.map((group) => group && { ...group, failed: group.failed + 1 }) }
    },
  }),
}

const faulty = (fault: (store: Store) => Partial<Store>) => (): Store => {
  const store = memoryStore()
  return { ...store, ...fault(store) }
}

async function firstFailure(open: () => Store, compare: boolean): Promise<string> {
  for (let seed = 1; seed <= 400; seed++) {
    try {
      await runOracle({ open, seed, compare })
    } catch (error) {
      return (error as Error).message
    }
  }
  return 'no failure'
}

describe('the oracle', () => {
  it.each(Object.entries(FAULTS))('finds a store that %s', async (_, fault) => {
    const message = await firstFailure(faulty(fault), true)

    expect(message).toMatch(/^Seed \d+ fails at the last of these \d+ commands:/)
    expect(Number(/these (\d+) commands/.exec(message)?.[1])).toBeLessThanOrEqual(12)
    expect(message).toMatch(/Replay: await runOracle/)
  })

  it.each([
    ['hands a leased job to a second worker', /I-4/],
    ['accepts every settlement', /I-5|I-4/],
    ['starts a job a millisecond early', /I-9|I-24/],
    ['prunes what has not expired', /I-1/],
    ['counts a job that is not there', /I-25/],
    ['retries into the same generation', /I-7/],
    ['forgets that a group has fired', /I-16/],
    ['counts a member that has not ended', /I-16/],
  ])('sees without a model that a store %s', async (name, invariant) => {
    const message = await firstFailure(faulty(FAULTS[name] as (store: Store) => Partial<Store>), false)

    expect(message).toMatch(invariant)
  })

  it('makes the same commands from the same seed', async () => {
    expect(await generateCommands(7, 80)).toEqual(await generateCommands(7, 80))
    expect(await generateCommands(7, 80)).not.toEqual(await generateCommands(8, 80))
  })

  it('makes commands that can be written down and replayed', async () => {
    const commands = JSON.parse(JSON.stringify(await generateCommands(7, 80))) as never

    await replayCommands({ open: () => memoryStore() }, commands)
  })
})

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Skep } from 'skep'
import { type Contestant, payload, type Sizes } from './contest.ts'
import { open, QUEUES } from './open.ts'

type Scenario = (skep: Skep, sizes: Sizes, contestant: Contestant) => Promise<number>

/** Every scenario by its name, in the order in which they run. Each gives jobs per second. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'enqueue, one awaited': enqueueOneByOne,
  'enqueue, 100 callers': enqueueWithCallers,
  'bulk enqueue': enqueueBulk,
  'drain, discard': (skep, sizes, contestant) => drain(skep, sizes, contestant, 'discard'),
  'drain, archive': (skep, sizes, contestant) => drain(skep, sizes, contestant, 'archive'),
}

async function enqueueOneByOne(skep: Skep, { oneByOne }: Sizes): Promise<number> {
  await skep.enqueue(QUEUES.discard, payload(0))
  const seconds = await timed(async () => {
    for (let n = 0; n < oneByOne; n++) await skep.enqueue(QUEUES.discard, payload(n))
  })
  await expectCount(skep, 'discard', oneByOne + 1)
  return oneByOne / seconds
}

async function enqueueWithCallers(skep: Skep, { callers }: Sizes): Promise<number> {
  await skep.enqueue(QUEUES.discard, payload(0))
  let sent = 0
  const caller = async (): Promise<void> => {
    while (sent < callers) await skep.enqueue(QUEUES.discard, payload(sent++))
  }
  const seconds = await timed(() => Promise.all(Array.from({ length: 100 }, caller)))
  await expectCount(skep, 'discard', callers + 1)
  return sent / seconds
}

async function enqueueBulk(skep: Skep, { bulk }: Sizes): Promise<number> {
  await skep.ready()
  const jobs = Array.from({ length: bulk }, (_, n) => payload(n))
  const seconds = await timed(() => skep.enqueueMany(QUEUES.discard, jobs))
  await expectCount(skep, 'discard', bulk)
  return bulk / seconds
}

/** Fills the queue, then lets one process of its own drain it. Every job must have run, and none may be left. */
async function drain(
  skep: Skep,
  sizes: Sizes,
  { address }: Contestant,
  queue: keyof typeof QUEUES,
): Promise<number> {
  await skep.ready()
  for (let n = 0; n < sizes.drain; n += 10_000) {
    const jobs = Array.from({ length: 10_000 }, (_, i) => payload(n + i))
    await skep.enqueueMany(QUEUES[queue], jobs)
  }
  if (address.kind === 'memory') return drainHere(skep, sizes, queue)

  const script = fileURLToPath(new URL('./drain-process.ts', import.meta.url))
  const child = fork(script, [JSON.stringify({ address, queue, concurrency: 100 })], {
    execArgv: ['--import', 'jiti/register'],
  })
  const ready = await answer<{ ready: true }>(child)
  if (!ready.ready) throw new Error('The draining process did not start.')
  child.send('go')
  const { ran, ms } = await answer<{ ran: number; ms: number }>(child)
  await new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(null)))

  const [counts] = await skep.counts([QUEUES[queue]])
  const left = (counts?.ready ?? 0) + (counts?.running ?? 0) + (counts?.delayed ?? 0)
  if (ran !== sizes.drain || left > 0) throw new Error(`${ran} of ${sizes.drain} jobs ran, ${left} are left.`)
  return (ran - 1) / (ms / 1_000)
}

function answer<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Message))
    child.once('exit', (code) => reject(new Error(`The draining process ended with code ${code}.`)))
  })
}

async function drainHere(skep: Skep, sizes: Sizes, queue: keyof typeof QUEUES): Promise<number> {
  let ran = 0
  const seconds = await timed(async () => {
    const ended = new Promise<void>((resolve) => {
      skep.worker([QUEUES[queue].handle(() => void (++ran === sizes.drain && resolve()))], {
        concurrency: 100,
      })
    })
    await ended
  })
  return ran / seconds
}

/** Runs one scenario on a contestant of its own. */
export async function measure(scenario: Scenario, contestant: Contestant, sizes: Sizes): Promise<number> {
  const skep = open(contestant.address)
  try {
    return await scenario(skep, sizes, contestant)
  } finally {
    await skep.close()
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await run()
  return (performance.now() - begin) / 1_000
}

async function expectCount(skep: Skep, queue: keyof typeof QUEUES, expected: number): Promise<void> {
  const [counts] = await skep.counts([QUEUES[queue]])
  const found = counts?.ready ?? 0
  if (found < expected) throw new Error(`${expected - found} of ${expected} jobs are not in the store.`)
}

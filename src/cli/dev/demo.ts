import {
  archive,
  buried,
  exponential,
  fixed,
  flow,
  type Handler,
  never,
  queue,
  retry,
  type ScheduleDefinition,
  type Skep,
  schedule,
} from '../../index.ts'
import type { AnyFlow } from '../connect/config-file.ts'

/** Kept short, so that a demo that runs all day stays small. */
const KEEP = archive('2m')

const mail = queue<{ to: string }>('mail.send', {
  onSuccess: KEEP,
  lane: ({ payload }) => payload.to,
  lanes: { concurrency: 2 },
  jsonSchema: {
    type: 'object',
    properties: { to: { type: 'string', format: 'email', title: 'To', examples: ['ada@example.com'] } },
    required: ['to'],
  },
})
const report = queue<{ month: string }>('report.build', {
  onSuccess: KEEP,
  onError: retry(8, exponential('700ms', { max: '8s' }), { ending: buried('5m') }),
})
const reminder = queue<{ invoice: number }>('invoice.remind', { onSuccess: KEEP })
const index = queue<{ change: number }>('search.index', { onSuccess: KEEP })
const card = queue<{ amount: number }>('card.charge', {
  onSuccess: KEEP,
  onError: retry(2, fixed('1200ms'), { ending: buried('5m') }),
  onTimeout: never(),
  jsonSchema: {
    type: 'object',
    properties: { amount: { type: 'number', minimum: 1, default: 20, title: 'Amount' } },
    required: ['amount'],
  },
})
const stock = queue<null>('stock.count', { onSuccess: KEEP })

const reserve = queue<{ order: number }, { shelf: string }>('order.reserve', { onSuccess: KEEP })
const pick = queue<{ order: number; shelf: string }, { picked: number }>('order.pick', { onSuccess: KEEP })
const label = queue<{ order: number; shelf: string }, { label: string }>('order.label', { onSuccess: KEEP })
const ship = queue<{ order: number }, { shipped: true }>('order.ship', { onSuccess: KEEP })

const fulfil = flow('fulfil', (f) => f.step(reserve).parallel({ pick, label }).sleep('3s').step(ship))

export const demoFlows: readonly AnyFlow[] = [fulfil]

export const demoSchedules: readonly ScheduleDefinition[] = [
  schedule('stock', { queue: stock, every: '20s', payload: null }),
  schedule('nightly-report', {
    queue: report,
    cron: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    payload: { month: '2026-11' },
  }),
]

export const demoCaptions: ReadonlyMap<string, string> = new Map([
  ['mail.send', 'a steady stream'],
  ['report.build', 'fails, waits, tries again'],
  ['invoice.remind', 'starts later'],
  ['search.index', 'many calls, one job'],
  ['card.charge', 'always ends among the dead'],
  ['stock.count', 'by schedule'],
  ['order.ship', 'the last step of a flow'],
])

class RendererBusy extends Error {
  override readonly name = 'RendererBusy'
}

class CardDeclined extends Error {
  override readonly name = 'CardDeclined'
}

export const demoHandlers: readonly Handler[] = [
  mail.handle(async ({ payload, signal }) => {
    await pause(between(200, 1_200), signal)
    return { sent: payload.to }
  }),
  report.handle(async ({ payload, signal }) => {
    await pause(between(300, 1_200), signal)
    if (Math.random() < 0.4) throw new RendererBusy('the renderer answered 503')
    return { month: payload.month, pages: Math.round(between(3, 40)) }
  }),
  reminder.handle(async ({ signal }) => {
    await pause(between(50, 150), signal)
  }),
  index.handle(async ({ payload, signal }) => {
    await pause(between(400, 900), signal)
    return { changes: payload.change }
  }),
  card.handle(async ({ payload, signal }) => {
    await pause(between(100, 300), signal)
    throw new CardDeclined(`the bank refused ${payload.amount.toFixed(2)} €`)
  }),
  stock.handle(async ({ signal, progress, log }) => {
    for (let shelf = 1; shelf <= 4; shelf++) {
      await pause(between(150, 400), signal)
      log.info(`shelf ${shelf} is counted`)
      progress(shelf * 25, `shelf ${shelf} of 4`)
    }
    return { items: Math.round(between(900, 1_100)) }
  }),
  reserve.handle(async ({ signal }) => {
    await pause(between(100, 400), signal)
    return { shelf: `shelf ${Math.ceil(between(0, 9))}` }
  }),
  pick.handle(async ({ signal }) => {
    await pause(between(500, 2_500), signal)
    return { picked: Math.ceil(between(0, 5)) }
  }),
  label.handle(async ({ payload, signal }) => {
    await pause(between(200, 600), signal)
    return { label: `order ${payload.order}` }
  }),
  ship.handle(async ({ signal }) => {
    await pause(between(300, 900), signal)
    return { shipped: true }
  }),
]

/**
 * Keeps enqueuing until stopped. An enqueue that fails is ignored: the board shows that the store is not available,
 * and the next one comes soon.
 */
export function produce(skep: Skep, say: (queue: string, what: string) => void): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  const repeat = async (wait: () => number, act: () => Promise<unknown>): Promise<void> => {
    while (!signal.aborted) {
      await act().catch(() => {})
      await pause(wait(), signal).catch(() => {})
    }
  }

  const loops = [
    repeat(
      () => between(200, 1_500),
      async () => {
        const letters = Array.from({ length: Math.ceil(between(0, 10)) }, () => ({
          to: `${word()}@example.com`,
        }))
        await skep.enqueueMany(mail, letters)
      },
    ),
    repeat(
      () => between(700, 1_800),
      () => skep.enqueue(report, { month: `2026-${String(Math.ceil(between(0, 12))).padStart(2, '0')}` }),
    ),
    repeat(
      () => between(1_000, 3_000),
      () =>
        skep.enqueue(
          reminder,
          { invoice: Math.round(between(1_000, 9_999)) },
          { delay: `${Math.round(between(4, 15))}s` },
        ),
    ),
    repeat(() => between(4_000, 7_000), burst),
    repeat(
      () => between(5_000, 8_000),
      () => skep.start(fulfil, { order: Math.round(between(1_000, 9_999)) }),
    ),
    repeat(
      () => between(5_000, 9_000),
      () => skep.enqueue(card, { amount: Math.round(between(500, 20_000)) / 100 }),
    ),
  ]

  /** Many changes in a short time: each puts the same job off a little, so that it runs once, after the last. */
  async function burst(): Promise<void> {
    const calls = Math.round(between(4, 9))
    for (let change = 1; change <= calls && !signal.aborted; change++) {
      const unique = { key: 'products', scope: 'queued', onConflict: 'postpone' } as const
      await skep.enqueue(index, { change }, { delay: '1500ms', unique })
      await pause(between(80, 250), signal)
    }
    say(index.name, `${calls} calls became one job`)
  }

  return async () => {
    stop.abort()
    await Promise.all(loops)
  }
}

function between(least: number, most: number): number {
  return least + Math.random() * (most - least)
}

function word(): string {
  return ['ada', 'grace', 'edsger', 'barbara', 'alan', 'radia', 'donald', 'margaret'][
    Math.floor(Math.random() * 8)
  ] as string
}

/** Waits, and fails as soon as the signal says that the wait is pointless. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end)
      resolve()
    }, ms)
    const end = (): void => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', end, { once: true })
  })
}

import {
  archive,
  buried,
  exponential,
  fixed,
  type Handler,
  never,
  queue,
  retry,
  type Skep,
} from '../../index.ts'

/** Kept short, so that a demo that runs all day stays small. */
const KEEP = archive('2m')

const mail = queue<{ to: string }>('mail.send', { onSuccess: KEEP })
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
})

export const demoCaptions: ReadonlyMap<string, string> = new Map([
  ['mail.send', 'a steady stream'],
  ['report.build', 'fails, waits, tries again'],
  ['invoice.remind', 'starts later'],
  ['search.index', 'many calls, one job'],
  ['card.charge', 'always ends among the dead'],
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
]

/**
 * Keeps enqueuing until told to stop. An enqueue that fails is forgotten: the board shows that the store is away,
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
      () => between(5_000, 9_000),
      () => skep.enqueue(card, { amount: between(5, 200) }),
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

// A small shop with everything that the screens of plans and tools show: errors, dead jobs, schedules, flows.

import * as z from 'zod'
import { bury, fixed, flow, type Queue, queue, retry, type Skep, schedule, settled } from '../../src/index.ts'

export const mail = queue('mail.send', {
  payload: z.object({
    to: z.email().describe('Who gets it'),
    subject: z.string().min(1),
    kind: z.enum(['plain', 'html']),
    copies: z.int().min(1).max(5).optional(),
    tags: z.array(z.string()).optional(),
  }),
  onError: retry(1, fixed('10ms')),
})
export const card: Queue<{ tenant: string; total: number }, object> = queue('billing.card', {
  onError: retry(1, fixed('10ms')),
})
export const lonely: Queue<{ row: number }> = queue('export.legacy')
export const tidy: Queue<{ what: string }, object> = queue('tidy')

const reserve: Queue<object, { items: { sku: string }[] }> = queue('stock.reserve')
const release: Queue<object, object> = queue('stock.release')
export const pack: Queue<{ sku: string }, { box: number }> = queue('pack')
const label: Queue<object, object> = queue('label')
const ship: Queue<object, { tracking: string }> = queue('ship')

export const order = flow('order', (f) =>
  f
    .input<{ orderId: number }>()
    .step(reserve, { undo: release })
    .parallel({ paper: (g) => g.step(label).step(label, { name: 'stick' }), check: label })
    .when(
      ({ state }) => state.orderId > 100,
      (g) => g.signal('approval', { timeout: '2d' }),
    )
    .each('boxes', pack, ({ state }) => state.items, settled)
    .step(ship),
)

export const fulfil = flow('fulfil', (f) =>
  f
    .input<{ orderId: number }>()
    .step(reserve, { name: 'take' })
    .each('parcels', pack, ({ state }) => state.items)
    .step(ship, { name: 'send' }),
)

/** What a test turns while the shop is open. */
export const shop = { isCardFixed: false, isBoxThere: false }

export function openShop(skep: Skep): ReturnType<Skep['worker']> {
  return skep.worker(
    [
      order,
      fulfil,
      mail.handle(({ payload, log, progress }) => {
        log.info(`sending to ${payload.to}`)
        progress(80, 'almost')
        return { accepted: [payload.to] }
      }),
      card.handle(({ payload }) => {
        if (shop.isCardFixed) return { paid: payload.total }
        const error = new Error(`Card of ${payload.tenant} was declined`)
        error.name = 'CardError'
        throw error
      }),
      tidy.handle(() => ({})),
      reserve.handle(() => ({ items: [{ sku: 'tea' }, { sku: 'cup' }, { sku: 'pot' }] })),
      release.handle(() => ({})),
      pack.handle(({ payload }) =>
        payload.sku === 'pot' && !shop.isBoxThere ? bury('No box fits a pot') : { box: 1 },
      ),
      label.handle(() => ({})),
      ship.handle(() => ({ tracking: 'T1' })),
    ],
    { concurrency: 8 },
  )
}

export async function fillShop(skep: Skep): Promise<void> {
  await skep.schedules.put(
    schedule('clocks', {
      queue: tidy,
      payload: { what: 'clocks' },
      cron: '30 2 28 3 *',
      timeZone: 'Europe/Berlin',
    }),
  )
  await skep.schedules.put(schedule('quarter', { queue: tidy, payload: { what: 'tmp' }, every: '15m' }))
  skep.schedules.declare(
    [
      schedule('report.daily', {
        queue: tidy,
        payload: { what: 'report' },
        cron: '30 9 * * 1-5',
        timeZone: 'Asia/Tokyo',
      }),
    ],
    { owner: 'reports' },
  )
  for (let n = 0; n < 4; n++) {
    await skep.enqueue(card, { tenant: n % 2 ? 'acme' : 'globex', total: n })
  }
  for (let n = 0; n < 3; n++) await skep.enqueue(lonely, { row: n })
}

/**
 * npm run bench -- --scenario dashboard [--only sqlite,postgres] [--quick] [--json [file]]
 *
 * How long the server takes for what each screen asks, with ten thousand jobs in the store and with a million. The two servers
 * are asked in turns, so that whatever else the machine does meets both.
 */
import { writeFileSync } from 'node:fs'
import type { Store } from 'skep'
import type { Address, Contestant, StoreKind } from '../contest.ts'
import { now } from '../contest.ts'
import { importBuilt } from '../root.ts'
import { type FreshStore, Servers } from '../servers.ts'
import { type Call, callsOf } from './calls.ts'
import { fillJobs } from './fill-jobs.ts'
import { fillLately, fillOnce } from './fill-rest.ts'
import { openStore } from './open-store.ts'
import { MeasuredServer } from './server.ts'
import { type Row, renderRows } from './table.ts'

export interface DashboardOptions {
  readonly stores: readonly StoreKind[]
  /** How many jobs the two stores have. */
  readonly sizes: readonly [small: number, large: number]
  /** How often each call is made. */
  readonly times: number
  readonly json: string | null
}

/** Pages of 200 that are turned to see whether the heap grows. */
const TURNED_PAGES = 200

export async function measureDashboard(options: DashboardOptions): Promise<void> {
  const rows: { [Kind in StoreKind]?: readonly Row[] } = {}
  const heaps: { [Kind in StoreKind]?: readonly HeapRow[] } = {}
  for (const kind of options.stores) {
    const contestant = { store: kind, options: {} } as Contestant
    // One server of each size: Redis has one room for all.
    const machines = await Promise.all(options.sizes.map(() => Servers.start([contestant])))
    const running: MeasuredServer[] = []
    const stores: FreshStore[] = []
    try {
      const addresses: Address[] = []
      for (const [index, size] of options.sizes.entries()) {
        const fresh = await (machines[index] as Servers).fresh(contestant)
        const { address } = fresh
        stores.push(fresh)
        await fill(address, size)
        addresses.push(address)
      }
      for (const address of addresses) {
        await using(address, (store) => fillLately(store, 'default', Date.now()))
        running.push(await MeasuredServer.start(address))
      }
      rows[kind] = await measure(running as [MeasuredServer, MeasuredServer], options.times)
      heaps[kind] = await Promise.all(running.map(heapOf))
    } finally {
      await Promise.all(running.map((server) => server.stop()))
      await Promise.all(stores.map((store) => store.remove()))
      await Promise.all(machines.map((server) => server.stop()))
    }
  }
  console.log(`${renderRows(rows, options.sizes)}\n`)
  for (const [kind, heap] of Object.entries(heaps)) {
    for (const [index, { before, after, pages }] of heap.entries()) {
      const jobs = options.sizes[index] as number
      console.log(`${kind}, ${jobs} jobs: heap ${mb(before)}; after ${pages} pages of 200 jobs ${mb(after)}`)
    }
  }
  if (options.json !== null) {
    const file = options.json === '-' ? '/dev/stdout' : options.json
    writeFileSync(file, `${JSON.stringify({ rows, heaps }, null, 2)}\n`)
  }
}

async function fill(address: Address, size: number): Promise<void> {
  const built = (await importBuilt('index')) as typeof import('skep')
  const from = now()
  await using(address, async (store) => {
    const skep = built.createSkep({ store, logger: built.silentLogger })
    await skep.ready()
    const { uuid } = built.systemRuntime()
    await fillJobs(store, { space: skep.space, uuid, from: 0, to: size, now: Date.now() })
    await fillOnce(built, skep)
    await skep.close()
  })
  console.error(`${address.kind}: ${size} jobs in ${Math.round((now() - from) / 1_000)} s`)
}

async function using(address: Address, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(address)
  await store.ready()
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

/** Every call in turn, small and large one after the other, and all that so many times. */
async function measure(servers: readonly [MeasuredServer, MeasuredServer], times: number): Promise<Row[]> {
  const calls = [await callsOf(servers[0]), await callsOf(servers[1])] as const
  const took = calls.map((some) => some.map((): number[] => []))
  // The first round is not counted: Node compiles, and caches fill.
  for (let round = -1; round < times; round++) {
    for (const index of calls[0].keys()) {
      for (const [which, server] of servers.entries()) {
        const { path, input } = (calls[which] as Call[])[index] as Call
        const ms = await server.time(path, input)
        if (round >= 0) ((took[which] as number[][])[index] as number[]).push(ms)
      }
    }
  }
  return calls[0].map(({ screen, name }, index) => ({
    screen,
    name,
    small: took[0]?.[index] as number[],
    large: took[1]?.[index] as number[],
  }))
}

interface HeapRow {
  readonly before: number
  readonly after: number
  readonly pages: number
}

/** Turns pages as an export does, and tells whether something of them stays. */
async function heapOf(server: MeasuredServer): Promise<HeapRow> {
  const before = await server.heapBytes()
  let cursor: string | undefined
  let pages = 0
  for (; pages < TURNED_PAGES; pages++) {
    const page = await server.call('jobs.list', { limit: 200, ...(cursor !== undefined && { cursor }) })
    if (page.cursor === null) break
    cursor = page.cursor
  }
  return { before, after: await server.heapBytes(), pages }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

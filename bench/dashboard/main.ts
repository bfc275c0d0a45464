/**
 * npm run bench -- --scenario dashboard [--only sqlite,postgres] [--quick] [--keep folder [--fill]] [--json [file]]
 *
 * How long the server takes for what each screen asks, with ten thousand jobs in the store and with a million. The two servers
 * are asked in turns, so that whatever else the machine does meets both.
 */
import { writeFileSync } from 'node:fs'
import type { Store } from 'skep'
import type { Address, StoreKind } from '../contest.ts'
import { now } from '../contest.ts'
import { importBuilt } from '../root.ts'
import { administer } from '../servers.ts'
import { type Call, callsOf } from './calls.ts'
import { fillJobs } from './fill-jobs.ts'
import { fillLately, fillOnce } from './fill-rest.ts'
import { openStore } from './open-store.ts'
import { freshRoom, keptRoom, type Room } from './room.ts'
import { MeasuredServer } from './server.ts'
import { type Row, renderRows } from './table.ts'

export interface DashboardOptions {
  readonly stores: readonly StoreKind[]
  /** How many jobs the two stores have. */
  readonly sizes: readonly [small: number, large: number]
  /** How often each call is made. */
  readonly times: number
  /** A folder in which the filled stores stay, for the next time; null: nothing stays. */
  readonly keep: string | null
  /** Only fill, measure nothing. */
  readonly isFillOnly: boolean
  readonly json: string | null
}

/** Pages of 200 that are turned to see whether the heap grows. */
const TURNED_PAGES = 200

export async function measureDashboard(options: DashboardOptions): Promise<void> {
  const rows: { [Kind in StoreKind]?: readonly Row[] } = {}
  const heaps: { [Kind in StoreKind]?: readonly HeapRow[] } = {}
  for (const kind of options.stores) {
    const { keep } = options
    const rooms: Room[] = []
    const running: MeasuredServer[] = []
    try {
      for (const size of options.sizes) {
        const room = keep === null ? await freshRoom(kind) : await keptRoom(kind, size, keep)
        rooms.push(room)
        if (room.filledAt === null) await fill(room, size)
      }
      if (options.isFillOnly) continue
      for (const { address } of rooms) {
        await using(address, (store) => fillLately(store, 'default', Date.now()))
        running.push(await MeasuredServer.start(address))
      }
      const calls = await Promise.all(
        running.map((server, i) => callsOf(server, rooms[i]?.filledAt as number)),
      )
      rows[kind] = await measure(running, calls, options.times)
      heaps[kind] = await Promise.all(running.map(heapOf))
    } finally {
      await Promise.all(running.map((server) => server.stop()))
      await Promise.all(rooms.map((room) => room.close()))
    }
  }
  if (options.isFillOnly) return
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

async function fill(room: Room, size: number): Promise<void> {
  const { address } = room
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
  // What the server does by itself within a minute or two.
  if (address.kind === 'postgres') await administer(address.url, 'vacuum analyze')
  room.filledAt = Date.now()
  await room.keep(room.filledAt)
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
async function measure(
  servers: readonly MeasuredServer[],
  calls: readonly (readonly Call[])[],
  times: number,
): Promise<Row[]> {
  const [first = []] = calls
  const took = calls.map((some) => some.map((): number[] => []))
  // The first round is not counted: Node compiles, and caches fill.
  for (let round = -1; round < times; round++) {
    for (const index of first.keys()) {
      for (const [which, server] of servers.entries()) {
        const { path, input } = (calls[which] as readonly Call[])[index] as Call
        const ms = await server.time(path, input)
        if (round >= 0) ((took[which] as number[][])[index] as number[]).push(ms)
      }
    }
  }
  return first.map(({ screen, name }, index) => ({
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

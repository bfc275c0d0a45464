/**
 * npm run bench -- --scenario counts [--only memory,sqlite,postgres,redis] [--quick] [--rounds n]
 *
 * How long `counts` of a store takes with ten thousand waiting jobs and with a million: plain, overdue, delayed and prioritised
 * ones. The call itself is measured, in this process and without a server in between, so no noise has to be allowed for. The two
 * stores are asked in turns. Exits with 1 where the fastest tenth of the calls takes longer by more than a fifth: whatever else the
 * machine does only adds to a call, and to more of them than of their tenth.
 */
import type { Store } from 'skep'
import { now, type StoreKind } from '../contest.ts'
import { openStore } from '../dashboard/open-store.ts'
import { freshRoom } from '../dashboard/room.ts'
import { quantile } from '../dashboard/table.ts'
import { plainTable } from '../report/markdown.ts'
import { importBuilt } from '../root.ts'
import { administer } from '../servers.ts'
import { fillWaiting, QUEUES, SPACE } from './fill.ts'

export type CountedKind = StoreKind | 'memory'

export interface CountsOptions {
  readonly counted: readonly CountedKind[]
  readonly sizes: readonly [small: number, large: number]
  /** How often each size is measured. */
  readonly times: number
}

const MOST_GROWTH = 1.2
/** The approximate duration of one measurement: of a fast store it covers many calls. */
const SAMPLE_MS = 3

interface Opened {
  readonly store: Store
  /** What stores and servers do by themselves within a minute or two. */
  settle(): Promise<void>
  close(): Promise<void>
}

interface Row {
  readonly kind: CountedKind
  readonly name: string
  /** The first call of a process, and the others. */
  readonly first: readonly number[]
  readonly took: readonly (readonly number[])[]
}

/** Returns what the process exits with. */
export async function measureCounts({ counted, sizes, times }: CountsOptions): Promise<number> {
  const rows: Row[] = []
  for (const kind of counted) {
    const opened: Opened[] = []
    try {
      for (const size of sizes) opened.push(await filled(kind, size))
      const stores = opened.map(({ store }) => store)
      rows.push(await measure(kind, 'all queues', stores, times, (store) => store.counts({ space: SPACE })))
      const queues = QUEUES.slice(0, 1)
      rows.push(
        await measure(kind, 'one queue', stores, times, (store) => store.counts({ space: SPACE, queues })),
      )
    } finally {
      for (const { close } of opened) await close()
    }
  }
  console.log(tableOf(rows, sizes))
  const grown = rows.filter((row) => ratioOf(row) > MOST_GROWTH)
  for (const row of grown)
    console.log(`Grows with the jobs: ${row.kind}, ${row.name}, by ${ratioOf(row).toFixed(2)}`)
  return grown.length > 0 ? 1 : 0
}

async function filled(kind: CountedKind, size: number): Promise<Opened> {
  const opened = await open(kind)
  const from = now()
  await opened.store.ready()
  await fillWaiting(opened.store, size)
  await opened.settle()
  console.error(`${kind}: ${size} jobs in ${Math.round((now() - from) / 1_000)} s`)
  return opened
}

async function open(kind: CountedKind): Promise<Opened> {
  if (kind === 'memory') {
    const { memoryStore } = (await importBuilt('memory')) as typeof import('skep/memory')
    const store = memoryStore()
    return { store, settle: async () => {}, close: () => store.close() }
  }
  const room = await freshRoom(kind)
  const { address } = room
  const store = await openStore(address)
  return {
    store,
    async settle() {
      if (address.kind !== 'postgres') return
      // 50,000 deltas at a time.
      for (let n = 0; n < 20; n++) await administer(address.url, 'select skep.fold_deltas()')
      await administer(address.url, 'vacuum analyze')
    },
    async close() {
      await store.close()
      await room.close()
    },
  }
}

async function measure(
  kind: CountedKind,
  name: string,
  stores: readonly Store[],
  times: number,
  call: (store: Store) => Promise<unknown>,
): Promise<Row> {
  const timed = async (store: Store, calls: number): Promise<number> => {
    const from = now()
    for (let n = 0; n < calls; n++) await call(store)
    return (now() - from) / calls
  }
  const first: number[] = []
  for (const store of stores) first.push(await timed(store, 1))
  // Node compiles, and what was written is folded.
  for (let n = 0; n < 20; n++) for (const store of stores) await timed(store, 1)
  const calls = Math.max(1, Math.round(SAMPLE_MS / (await timed(stores[0] as Store, 20))))
  const took = stores.map((): number[] => [])
  for (let n = 0; n < times; n++) {
    for (const [index, store] of stores.entries()) took[index]?.push(await timed(store, calls))
  }
  return { kind, name, first, took }
}

/** How long a share of the calls with few and with many jobs took at most. */
function sharesOf({ took }: Row, share: number): [small: number, large: number] {
  return took.map((some) => quantile(some, share)) as [number, number]
}

function ratioOf(row: Row, share = 0.1): number {
  const [small, large] = sharesOf(row, share)
  return large / small
}

function tableOf(rows: readonly Row[], sizes: readonly [number, number]): string {
  const [small, large] = sizes.map((size) =>
    size >= 1_000_000 ? `${size / 1_000_000}M` : `${size / 1_000}k`,
  )
  const micro = (ms: number): string => (ms * 1_000).toFixed(0)
  return plainTable(
    [
      'Store',
      'Counts of',
      `fastest tenth, ${small}`,
      `${large}`,
      'ratio',
      `median, ${small}`,
      `${large}`,
      'ratio',
      `first call, ${small}`,
      `${large}`,
    ],
    rows.map((row) => [
      row.kind,
      row.name,
      ...[0.1, 0.5].flatMap((share) => [...sharesOf(row, share).map(micro), ratioOf(row, share).toFixed(2)]),
      ...row.first.map(micro),
    ]),
  )
}

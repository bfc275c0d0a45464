// Many small jobs, and one that gets all their results when the last has ended. Nobody polls.
import { createSkep, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const starMap = queue<{ upTo: number }>('star-map')
const squareMap = queue<number, number>('square-map')
const reduce = queue<{ label: string }, number>('reduce')

const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })
const finished = new Promise<number>((resolve) => {
  skep.worker([
    // Its children exist if, and only if, it succeeds; it does not wait for them.
    starMap.handle(async ({ payload, spawn }) => {
      const children = Array.from({ length: payload.upTo }, (_, n) => squareMap.job(n + 1))
      await spawn(children, { next: reduce.job({ label: 'squares' }) })
    }),
    squareMap.handle(({ payload }) => payload * payload),
    reduce.handle(async ({ results }) => {
      const squares = await results<number>()
      const total = squares.reduce((sum, one) => sum + (one.ok ? one.result : 0), 0)
      resolve(total)
      return total
    }),
  ])
})

await skep.enqueue(starMap, { upTo: 100 })
console.log('the sum of the squares is', await finished)
await skep.close()

// Prints:
// the sum of the squares is 338350

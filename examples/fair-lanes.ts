// One tenant has a hundred jobs in the queue, another has two: they take turns, and a third counts double.
import { createSkep, queue } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const render = queue<{ tenant: string; page: number }>('page.render', {
  lane: ({ payload }) => payload.tenant,
  lanes: { weight: { gold: 2 } },
})

const pages = (tenant: string, count: number) =>
  Array.from({ length: count }, (_, page) => ({ tenant, page: page + 1 }))
await skep.enqueueMany(render, [...pages('big', 100), ...pages('gold', 4), ...pages('small', 2)])

const order: string[] = []
skep.worker([render.handle(({ payload }) => void order.push(`${payload.tenant} ${payload.page}`))], {
  concurrency: 1,
})
while (order.length < 106) await new Promise((resolve) => setTimeout(resolve, 5))

console.log(order.slice(0, 8).join(', '))
console.log('all of small by', order.indexOf('small 2') + 1)
await skep.close()

// Prints:
// big 1, gold 1, small 1, gold 2, big 2, gold 3, small 2, gold 4
// all of small by 7

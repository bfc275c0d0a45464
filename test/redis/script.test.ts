import { afterEach, expect, it } from 'vitest'
import { idOf, SPACE, sample } from '../../src/testing/store/samples.ts'
import { now, openWorld, type World } from './stocked.ts'

let world: World | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

it('The Redis store goes on with a server that has forgotten the script', async () => {
  world = await openWorld()
  const { store, client } = world
  await store.insert({ jobs: [sample(1)], now })

  await client.script('FLUSH')
  const replies = await Promise.all([2, 3, 4].map((n) => store.insert({ jobs: [sample(n)], now })))

  expect(replies.map(({ results }) => results[0]?.status)).toEqual(['ok', 'ok', 'ok'])
  const { jobs } = await store.get({ space: SPACE, ids: [1, 2, 3, 4].map(idOf) })
  expect(jobs.map((job) => job?.state)).toEqual(['ready', 'ready', 'ready', 'ready'])
})

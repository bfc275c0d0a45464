import { fixed, flow, queue, retry, type Skep, schedule, type Worker } from 'skep'
import { accessTokens, type SkepServer } from 'skep/server'
import { expect, vi } from 'vitest'
import type { Caller } from '../../../src/operations/operation.ts'
import type { Things } from './samples.ts'

/** Ids that nobody has. */
export function nothings(name: string, last = '0'): Things {
  const unknown = `01890000-0000-7000-8000-00000000000${last}`
  return {
    queue: name,
    job: unknown,
    schedule: `nothing-${last}`,
    run: unknown,
    group: unknown,
    bulk: unknown,
    view: unknown,
    errorGroup: last.repeat(16),
    worker: unknown,
    receiver: unknown,
    token: last.repeat(16),
  }
}

/**
 * One of everything that has an id, in the space of a Skep: all of it about the queue of this name, or queues whose names begin with
 * it and a dot. What people made was made by `by`.
 */
export async function makeThings(
  of: Skep,
  server: SkepServer,
  { name, marker, by }: { readonly name: string; readonly marker: string; readonly by: string },
): Promise<{ readonly things: Things; readonly worker: Worker }> {
  const line = queue<{ marker: string }>(name)
  const broken = queue<{ marker: string }>(`${name}.broken`, { onError: retry(0, fixed('1s')) })
  const job = await of.enqueue(line, { marker }, { delay: '1h', headers: { note: marker } })
  const id = `every-${name}`
  await of.schedules.put(schedule(id, { queue: line, every: '1h', payload: { marker } }))
  const run = await of.start(
    flow(`${name}.flow`, (f) => f.step(queue<{ marker: string }, object>(`${name}.step`))),
    { marker },
  )
  const group = await of.groups.group([queue<object>(`${name}.member`).job({ marker }, { delay: '1h' })])
  const bulk = await of.bulk.start({ action: 'promote', query: `queue:${name}.none`, by, name: marker })
  const worker = of.worker([
    broken.handle(() => {
      throw new Error(`It broke: ${marker}`)
    }),
  ])
  await of.enqueue(broken, { marker })
  await vi.waitFor(
    async () => expect((await of.errors.list({ queue: broken.name })).groups).toHaveLength(1),
    {
      timeout: 20_000,
    },
  )
  const [error] = (await of.errors.list({ queue: broken.name })).groups
  const caller: Caller = {
    name: by,
    scopes: new Set(['admin', 'operate', 'read', 'work']),
    space: of.space,
    spaces: null,
    queues: [name, `${name}.*`],
    payloads: true,
    address: null,
  }
  const receiver = await server.core.hub.connect({
    caller,
    queues: [`${name}.received`],
    credits: 1,
    protocol: 'http',
    send: () => true,
    stop: () => {},
    end: () => {},
  })
  const view = (await server.core.dispatch(
    'views.put',
    { name: marker, query: `queue:${name}` },
    caller,
  )) as { readonly id: string }
  const { view: token } = await accessTokens(of).create(
    { name: `token of ${marker}`, scopes: ['read'], space: of.space, queues: [name, `${name}.*`] },
    'test',
  )
  return {
    worker,
    things: {
      queue: name,
      job: job.id,
      schedule: id,
      run: run.id,
      group: group.id,
      bulk: bulk.id,
      view: view.id,
      errorGroup: error?.id as string,
      worker: worker.id,
      receiver: receiver.id,
      token: token.id,
    },
  }
}

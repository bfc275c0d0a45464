// The journeys that are measured: what a job does from one end to the other. They use as little of the API as they can,
// so that they also run on older and newer checkouts.

/**
 * What a journey does. `run` is measured until the package is idle; `before` and `after` prepare and clean up each run.
 *
 * @typedef {{ before?: () => Promise<unknown>, run: () => Promise<unknown>, after?: () => Promise<unknown> }} Journey
 */

/**
 * The package of the checkout. It is not the one this file was written for, so it has no types.
 *
 * @typedef {{ lib: any, server: any, store: any }} Package
 */

/** @type {Record<string, (parts: Package) => Promise<Journey> | Journey>} */
export const journeys = {
  'enqueue → run → settled': ({ lib, store }) => {
    const { skep, work, handled } = startWorker(lib, store)
    return { run: () => Promise.all([handled(), skep.enqueue(work, { n: 1 })]) }
  },

  'enqueue → run → result awaited': ({ lib, store }) => {
    const { skep, work } = startWorker(lib, store)
    return { run: async () => (await skep.enqueue(work, { n: 1 })).result() }
  },

  'enqueue → error → retry → settled': ({ lib, store }) => {
    let attempts = 0
    const { skep, work, handled } = startWorker(lib, store, {
      options: { onError: lib.retry(1, lib.fixed('50ms', { jitter: 0 })) },
      handler: () => {
        attempts++
        if (attempts % 2 === 1) throw new Error('The first attempt fails.')
      },
    })
    return { run: () => Promise.all([handled(), skep.enqueue(work, { n: 1 })]) }
  },

  'flow: step, fan-out 3, fan-in, step': ({ lib, store }) => {
    const [split, part, join, finish] = ['split', 'part', 'join', 'finish'].map((name) => lib.queue(name))
    const finished = signal()
    const definition = lib.flow('shape', (/** @type {any} */ flow) =>
      flow
        .step(split)
        .each('parts', part, (/** @type {any} */ { state }) => state.items)
        .step(join)
        .step(finish),
    )
    const skep = lib.createSkep({ store })
    skep.worker([
      definition,
      split.handle(() => ({ items: [{ n: 1 }, { n: 2 }, { n: 3 }] })),
      part.handle(() => ({ ok: true })),
      join.handle(() => ({ joined: true })),
      finish.handle(finished.notify),
    ])
    const owner = [skep, skep.runs, skep.flows].find((one) => typeof one?.start === 'function')
    return { run: () => Promise.all([finished.next(), owner.start(definition, { n: 1 })]) }
  },

  'schedule put → slot fired → run': ({ lib, store }) => {
    const { skep, work, handled } = startWorker(lib, store)
    let runs = 0
    const id = () => `shape.${runs}`
    return {
      before: async () => runs++,
      run: () => {
        const times = { every: '1s', startAt: Date.now() + 300 }
        const schedule = lib.schedule(id(), { queue: work, payload: { n: 1 }, ...times })
        return Promise.all([handled(), skep.schedules.put(schedule)])
      },
      // Before its second slot, which is a second later.
      after: () => skep.schedules.remove(id()),
    }
  },

  'HTTP enqueue': async ({ server, store }) => {
    const url = await listen(server, store)
    return { run: () => post(`${url}/jobs`, { queue: 'work', payload: { n: 1 } }) }
  },

  'receiver: ack of one job': async ({ server, store }) => {
    const url = await listen(server, store)
    const { nextJob, ack } = await receive(url)
    /** @type {any} */
    let job
    return {
      before: async () => {
        ;[job] = await Promise.all([nextJob(), post(`${url}/jobs`, { queue: 'work', payload: { n: 1 } })])
      },
      run: () => ack(job),
    }
  },

  'receiver: HTTP enqueue → stream → ack': async ({ server, store }) => {
    const url = await listen(server, store)
    const { nextJob, ack } = await receive(url)
    return {
      run: async () => {
        const [job] = await Promise.all([
          nextJob(),
          post(`${url}/jobs`, { queue: 'work', payload: { n: 1 } }),
        ])
        await ack(job)
      },
    }
  },
}

// ---- What journeys are made of ----

/**
 * A Skep with a worker of one queue. `handled()` resolves when the handler returns for the next time.
 *
 * @param {any} lib
 * @param {any} store
 * @param {{ options?: object, handler?: () => void }} [settings]
 */
function startWorker(lib, store, { options = {}, handler = () => {} } = {}) {
  const skep = lib.createSkep({ store })
  const work = lib.queue('work', options)
  const { next, notify } = signal()
  skep.worker([
    work.handle(() => {
      handler()
      notify()
    }),
  ])
  return { skep, work, handled: next }
}

/** `next()` resolves when `notify()` is called for the next time. */
function signal() {
  /** @type {((value: any) => void)[]} */
  const waiting = []
  return {
    /** @returns {Promise<any>} */
    next: () => new Promise((resolve) => waiting.push(resolve)),
    /** @param {unknown} [value] */
    notify: (value) => {
      for (const resolve of waiting.splice(0)) resolve(value)
    },
  }
}

/**
 * @param {any} server
 * @param {any} store
 * @returns {Promise<string>} The address of the API.
 */
async function listen(server, store) {
  const { url } = await server.createServer({ store }).listen({ port: 0 })
  return `${url}/api/v1`
}

/**
 * @param {string} url
 * @param {object} body
 * @returns {Promise<any>}
 */
async function post(url, body) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers })
  if (!response.ok) throw new Error(`${url}: HTTP ${response.status} ${await response.text()}`)
  return response.json()
}

/**
 * Opens a stream of jobs, as in docs/receivers.md.
 *
 * @param {string} url
 */
async function receive(url) {
  const body = JSON.stringify({ queues: ['work'], credits: 10 })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/receive`, { method: 'POST', body, headers })
  const hello = signal()
  const jobs = signal()
  const read = async () => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of response.body ?? []) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const frame of lines.map((line) => JSON.parse(line))) {
        if (frame.hello) hello.notify(frame.hello.receiver)
        if (frame.jobs) jobs.notify(frame.jobs[0])
      }
    }
  }
  const [receiver] = await Promise.all([hello.next(), Promise.resolve(void read())])
  return {
    nextJob: jobs.next,
    /** @param {{ id: string, token: string }} job */
    ack: async ({ id, token }) => {
      const { saved } = await post(`${url}/receivers/${receiver}/ack`, { acks: [{ id, token, done: true }] })
      if (saved !== 1) throw new Error('The ack was not saved.')
    },
  }
}

import type { Skep } from '../../index.ts'
import { openBrowser } from '../connect/serve.ts'
import { briefly } from '../explain-error.ts'
import type { Board } from './dashboard.ts'
import type { Key } from './screen.ts'

const BY = 'skep dev'
/** Jobs that are tried before it is said that none can be sent again. */
const MOST_TRIED = 10

export interface DevKeysParts {
  readonly skep: Skep
  readonly board: Board
  readonly say: (text: string) => void
  /** Where the dashboard is; null: nowhere. */
  readonly url: () => string | null
  readonly reload: (() => void) | null
  readonly stop: (how: 'quit' | 'interrupt') => void
}

/** What the keys of `skep dev` are for, as its foot says. */
export function keysOf({ reload }: Pick<DevKeysParts, 'reload'>): string {
  return [
    'o open',
    ...(reload === null ? [] : ['r reload']),
    's send again',
    'p pause',
    'c clear',
    'q quit',
  ].join(' · ')
}

/** The keys of `skep dev`. Errors are shown and end nothing. */
export function devKeys(parts: DevKeysParts): (key: Key) => void {
  const { skep, board, say, url, reload, stop } = parts
  const actions: Readonly<Record<string, () => void | Promise<void>>> = {
    quit: () => stop('quit'),
    interrupt: () => stop('interrupt'),
    r: () => reload?.(),
    c: () => board.clear(),
    async o() {
      const address = url()
      if (address === null) say('The dashboard is not available.')
      else if (!(await openBrowser(address))) say(`Cannot start a browser. Open ${address}`)
    },
    async s() {
      for (const id of await lastJobs(skep, board)) {
        const copy = await sentAgain(skep, id)
        if (copy !== null) return say(`Copied ${id} as ${copy}`)
      }
      say('No job to copy yet.')
    },
    async p() {
      const isPaused = (await skep.queues.holds()).some(
        ({ kind, space, queue }) => kind === 'pause' && space === skep.space && queue === null,
      )
      if (isPaused) await skep.queues.resume({}, { by: BY })
      else await skep.queues.pause({}, { by: BY })
      say(isPaused ? 'Resumed: jobs start again.' : 'Paused: nothing starts until p is pressed again.')
      await board.look()
    },
  }
  return (key) => {
    const act = Object.hasOwn(actions, key) ? actions[key] : undefined
    if (act === undefined) return
    Promise.resolve(act()).catch((error: unknown) => say(`Failed: ${briefly(error)}`))
  }
}

/** The last jobs that this process ran, else the newest job. Without control jobs of flows. */
async function lastJobs(skep: Skep, board: Board): Promise<readonly string[]> {
  const ran = board.snapshot().events.filter(({ id, queue }) => id !== '' && !/^flow(\.\d+)?:/.test(queue))
  if (ran.length > 0) return [...new Set(ran.map(({ id }) => id))].slice(0, MOST_TRIED)
  const { jobs } = await skep.jobs.list({ limit: 1 })
  return jobs.map(({ id }) => id)
}

/** The id of the copy; null if the job is gone, as some are as soon as they are done. */
async function sentAgain(skep: Skep, id: string): Promise<string | null> {
  try {
    return (await skep.jobs.copy(id, { by: BY })).id
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'JOB_NOT_FOUND') return null
    throw error
  }
}

import type { Skep } from '../../index.ts'
import { briefly } from '../explain.ts'
import { openBrowser } from '../serving.ts'
import type { Board } from './board.ts'
import type { Key } from './screen.ts'

const BY = 'skep dev'

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

/** What the keys of `skep dev` do. Whatever goes wrong is said, and ends nothing. */
export function devKeys(parts: DevKeysParts): (key: Key) => void {
  const { skep, board, say, url, reload, stop } = parts
  const actions: Readonly<Record<string, () => void | Promise<void>>> = {
    quit: () => stop('quit'),
    interrupt: () => stop('interrupt'),
    r: () => reload?.(),
    c: () => board.clear(),
    async o() {
      const address = url()
      if (address === null) say('There is no dashboard to open.')
      else if (!(await openBrowser(address))) say(`No browser could be started. Open ${address}`)
    },
    async s() {
      const id = await lastJob(skep, board)
      if (id === undefined) return say('No job was there yet that could be sent again.')
      const { id: copy } = await skep.again(id, { by: BY })
      say(`Sent again: ${id} as ${copy}`)
    },
    async p() {
      const isPaused = (await skep.holds()).some(
        ({ kind, space, queue }) => kind === 'pause' && space === skep.space && queue === null,
      )
      if (isPaused) await skep.resume({}, { by: BY })
      else await skep.pause({}, { by: BY })
      say(isPaused ? 'Resumed: jobs start again.' : 'Paused: nothing starts until p is pressed again.')
      await board.look()
    },
  }
  return (key) => {
    const act = Object.hasOwn(actions, key) ? actions[key] : undefined
    if (act === undefined) return
    Promise.resolve(act()).catch((error: unknown) => say(`That did not work: ${briefly(error)}`))
  }
}

/** The last one that this process ran, else the newest that is there. */
async function lastJob(skep: Skep, board: Board): Promise<string | undefined> {
  const seen = board.snapshot().events.find(({ id }) => id !== '')
  if (seen !== undefined) return seen.id
  const { jobs } = await skep.list({ limit: 1 })
  return jobs[0]?.id
}

/**
 * A player: a process that opens one line and does what it is told. It is bundled (see bundle.ts), so that it starts fast
 * and runs plain JavaScript like its user's programs would, on whichever Node the contestant needs.
 */
import type { Line, OpenLine } from '../line.ts'
import type { Commands } from './commands.ts'
import { enqueueing } from './enqueueing.ts'
import { flowing } from './flowing.ts'
import type { Answer, Order } from './player.ts'
import { working } from './working.ts'

let opened: Line | null = null

function line(): Line {
  if (opened === null) throw new Error('No line is open.')
  return opened
}

const commands: Commands = {
  async open({ line: name, ...how }) {
    const { open } = (await import(new URL(`./line-${name}.mjs`, import.meta.url).href)) as { open: OpenLine }
    opened = await open(how)
  },
  ...enqueueing(line),
  ...working(line),
  ...flowing(line),
  async serve() {
    const server = await line().serve?.()
    if (server === undefined) throw new Error('This line has no server.')
    return { url: server.url }
  },
  count: () => line().count(),
  async close() {
    await opened?.close()
    opened = null
  },
}

process.on('message', (order: Order) => void obey(order))
// Whoever tells it what to do is gone.
process.on('disconnect', () => process.exit(1))

async function obey({ id, name, args }: Order): Promise<void> {
  const answer: Answer = await (commands[name] as (...args: unknown[]) => Promise<unknown>)(...args).then(
    (value) => ({ id, value }),
    (error) => ({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
  process.send?.(answer)
}

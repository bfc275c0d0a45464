import type { Listening } from '../../server.ts'
import type { Opened } from '../connect/open.ts'
import { grpcAddress } from '../connect/serve.ts'
import { clean, cut } from '../format/text.ts'
import type { Work } from './workers.ts'

const KINDS = { sqlite: 'SQLite ', memory: '', postgres: '', redis: '', config: '', server: '' } as const

/** The addresses of everything, shown at the start. */
export function factLines({
  opened: { place },
  at,
  work: { handlers, flows },
  hint,
}: {
  readonly opened: Opened
  readonly at: Listening | null
  readonly work: Work
  /** What to say about the handlers. */
  readonly hint: string
}): readonly (readonly [string, string])[] {
  const names = [...handlers.map(({ queue }) => queue.name), ...flows.map(({ name }) => `flow ${name}`)]
  const lost = place.kind === 'memory' ? ' (the jobs end with this process)' : ''
  return [
    ['Storage', `${KINDS[place.kind]}${place.label}${lost}`],
    ...(at === null
      ? []
      : ([
          ['Dashboard', at.url],
          ['HTTP', `${at.url}/api/v1`],
          ['gRPC', grpcAddress(at)],
        ] as const)),
    ['Handlers', `${cut(clean(names.join(', ')), 200)}${hint === '' ? '' : ` (${hint})`}`],
  ]
}

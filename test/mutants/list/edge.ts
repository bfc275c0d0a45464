import type { Mutant } from '../mutant.ts'

const by = (file: string, test: string): Mutant['killedBy'] => ({
  vitest: `test/server/edge/${file}.test.ts`,
  test,
})

/** The edge of the server, where strangers, proxies and hostile data arrive. */
export const EDGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'edge-body-left-on-the-connection',
    incidents: [],
    rule: 'R23',
    file: 'src/server/http/handler.ts',
    find: 'return afterBody(request, full, env.services.runtime)',
    replace: 'return full',
    story: 'After a refused request with a large body, the next request of a pooled connection hangs.',
    killedBy: by('keep-alive', 'Express leaves a usable connection after no token'),
  },
  {
    name: 'edge-large-body-keeps-the-connection',
    incidents: [],
    rule: 'R23',
    file: 'src/server/http/unread.ts',
    find: `if (!isKept) headers.set('connection', 'close')`,
    replace: '',
    story: 'A refused body of any size is announced as harmless to the connection.',
    killedBy: by('keep-alive', 'a server of its own leaves a usable connection after no token'),
  },
]

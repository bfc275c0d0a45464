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
  {
    name: 'edge-no-budget-for-secrets',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/redact.ts',
    find: 'if (leftMs <= 0) return HIDDEN',
    replace: '',
    story: 'Whoever stores enough text stops the server for everybody who looks at it.',
    killedBy: by('hostile', 'hides long texts unread when it has looked for secrets for too long'),
  },
  {
    name: 'edge-web-tokens-read-again-and-again',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/secret-text.ts',
    find: 'const JWT = /(?<![A-Za-z0-9_-])eyJ',
    replace: 'const JWT = /(?<![A-Za-z0-9])eyJ',
    story: 'A text of many beginnings of a web token takes quadratic time to redact.',
    killedBy: by('hostile', 'take time in proportion to their length in the redactor'),
  },
  {
    name: 'edge-value-behind-another-name-is-shown',
    incidents: [],
    rule: 'R23',
    file: 'src/server/access/secret-text.ts',
    find: "if (secrecy === 'none') continue",
    replace:
      "if (secrecy === 'none') {\n      SEPARATOR.lastIndex = endOf(PLAIN, text, name.valueAt + 1)\n      continue\n    }",
    story: 'In "Error: password=…" the name Error takes the rest for its value, and the password is shown.',
    killedBy: by('redaction', 'behind the name of an error'),
  },
]

import type { Scope, Tokens, TokenView } from '../../server.ts'
import { personOf } from '../change/actor.ts'
import { confirm } from '../change/confirm.ts'
import { DRY_RUN_FLAG, onlySays } from '../change/dry-run.ts'
import type { Call, Command } from '../command.ts'
import { type Reached, reaching } from '../connect/connect.ts'
import type { Opened } from '../connect/open.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { table } from '../format/table.ts'
import { clean, quote } from '../format/text.ts'

export const tokensCommand: Command = {
  name: 'tokens',
  summary: 'Who may use a server: make, list and revoke access tokens',
  usage: [
    'tokens [list]',
    'tokens create --name <name> --scopes <scope,…> [flags]',
    'tokens revoke <id|name> [--dry-run]',
  ],
  actions: {
    list: 'Show the tokens, without their secrets',
    create: 'Make a token and print it: the only time that it is shown',
    revoke: 'End a token; servers notice within five seconds',
  },
  flags: {
    name: { kind: 'text', value: 'name', help: 'How its holder is called in the audit' },
    scopes: {
      kind: 'text',
      value: 'a,b',
      help: 'Of enqueue, work, read, operate, admin. Operate includes read, admin includes both',
    },
    queues: { kind: 'text', value: 'a,b.*', help: 'Only these queues, by name or pattern. Default: all' },
    'every-space': { kind: 'switch', help: 'For every space, and not only that of --space' },
    payloads: { kind: 'switch', help: 'Show payloads, results and logs to it. Admins see them anyway' },
    expires: { kind: 'text', value: '90d', help: 'How long it is good for. Default: until it is revoked' },
    'dry-run': DRY_RUN_FLAG,
  },
  examples: [
    'skep tokens create --name ada --scopes admin',
    "skep tokens create --name shop --scopes enqueue --queues 'mail.*' --expires 90d",
    'skep tokens revoke shop',
  ],

  async run(call) {
    const [action = 'list', ...words] = call.args.words
    if (action === 'create') return create(call, words)
    if (action === 'revoke') return revoke(call, words)
    return list(call)
  },
}

type TokenList = Pick<Tokens, 'list' | 'create'> & { revoke(id: string): Promise<unknown> }

/** The server is loaded only here: other commands need nothing of it. */
async function tokensOf({ opened, server }: Reached): Promise<TokenList> {
  if (server !== null) {
    return {
      list: async () => (await server.call('tokens.list')).tokens,
      create: ({ expires, ...fields }) =>
        server.call('tokens.create', {
          ...fields,
          ...(expires === undefined ? {} : { expires: String(expires) }),
        }),
      revoke: (id) => server.call('tokens.revoke', { id }),
    }
  }
  const { accessTokens } = await import('../../server.ts')
  return accessTokens((opened as Opened).skep)
}

function create(call: Call, words: readonly string[]): Promise<number> {
  const { args, out } = call
  const name = args.text('name')
  const scopes = args.names('scopes')
  if (words.length > 0) throw usage(`There is nothing to do with ${quote(words[0] as string)}.`)
  if (name === undefined || scopes === undefined) {
    throw usage('A token needs a name and scopes.', 'skep tokens create --name ada --scopes admin')
  }
  return reaching(call, { create: !args.on('dry-run') }, async (reached) => {
    const { skep } = reached
    if (onlySays(call, `make a token ${quote(name)} with ${clean(scopes.join(', '))}`, { name, scopes })) {
      return EXIT.ok
    }
    const tokens = await tokensOf(reached)
    const queues = args.names('queues')
    const expires = args.duration('expires')
    const { token, view } = await tokens.create(
      {
        name,
        scopes: scopes as readonly Scope[],
        space: args.on('every-space') ? '*' : skep.space,
        ...(queues === undefined ? {} : { queues }),
        ...(args.on('payloads') ? { payloads: true } : {}),
        ...(expires === undefined ? {} : { expires }),
      },
      `cli:${personOf(args) ?? 'somebody'}`,
    )
    if (out.json) out.object({ token, view })
    else {
      out.data(token)
      out.note(out.paintNote('dim', 'Keep it now: it is not stored and cannot be shown again.'))
    }
    return EXIT.ok
  })
}

function revoke(call: Call, words: readonly string[]): Promise<number> {
  const [wanted] = words
  if (wanted === undefined || words.length > 1) throw usage('Name one token.', 'skep tokens revoke <id|name>')
  return reaching(call, { create: false }, async (reached) => {
    const tokens = await tokensOf(reached)
    const found = (await tokens.list()).find(({ id, name }) => id === wanted || name === wanted)
    if (found === undefined) throw notFound(`There is no token ${quote(wanted)}.`, 'skep tokens')
    const { id, name } = found
    if (onlySays(call, `revoke the token ${quote(name)}`, { id, name })) return EXIT.ok
    await confirm(call, `Revoke the token ${quote(found.name)}?`)
    await tokens.revoke(found.id)
    if (call.out.json) call.out.object({ id: found.id, revoked: true })
    else call.out.data(`Revoked ${clean(found.name)}.`)
    return EXIT.ok
  })
}

function list(call: Call): Promise<number> {
  const { out } = call
  return reaching(call, { create: false }, async (reached) => {
    const tokens = await (await tokensOf(reached)).list()
    if (out.json) out.object({ tokens })
    else if (tokens.length === 0) out.note('There are no tokens. "skep tokens create" makes one.')
    else for (const line of table(COLUMNS, tokens.map(rowOf), out)) out.data(line)
    return EXIT.ok
  })
}

const COLUMNS = [
  { title: 'ID' },
  { title: 'NAME', flexible: true },
  { title: 'SCOPES' },
  { title: 'SPACE' },
  { title: 'QUEUES', flexible: true },
  { title: 'EXPIRES' },
  { title: 'LAST USED' },
] as const

function rowOf({ id, name, scopes, space, queues, expiresAt, lastUsedAt }: TokenView): string[] {
  const day = (moment: string | null): string => moment?.slice(0, 16).replace('T', ' ') ?? '-'
  return [
    id,
    clean(name),
    scopes.join(','),
    clean(space),
    clean(queues.join(',')),
    day(expiresAt),
    day(lastUsedAt),
  ]
}

import type { Scope } from '../../operations/schema/inputs.ts'
import type { TokenView } from '../../operations/schema/outputs.ts'
import { given } from '../arguments.ts'
import { confirm } from '../change/confirm.ts'
import { DRY_RUN_FLAG, onlySays } from '../change/dry-run.ts'
import type { Call, Command } from '../command.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { table } from '../format/table.ts'
import { clean, quote } from '../format/text.ts'

export const tokensCommand: Command = {
  name: 'tokens',
  summary: 'Create, list and revoke access tokens of servers',
  usage: [
    'tokens [list]',
    'tokens create --name <name> --scopes <scope,…> [flags]',
    'tokens revoke <id|name> [--dry-run]',
  ],
  actions: {
    list: 'Show the tokens, without their secrets',
    create: 'Create a token and print it: it cannot be shown again',
    revoke: 'Revoke a token; servers notice within five seconds',
  },
  flags: {
    name: { kind: 'text', value: 'name', help: 'The name of its holder in the audit log' },
    scopes: {
      kind: 'text',
      value: 'a,b',
      help: 'Of enqueue, work, read, operate, admin. Operate includes read, admin includes both',
    },
    queues: { kind: 'text', value: 'a,b.*', help: 'Only these queues, by name or pattern. Default: all' },
    'every-space': { kind: 'switch', help: 'For every space instead of only that of --space' },
    payloads: { kind: 'switch', help: 'Allow it to see payloads, results and logs. Admins always see them' },
    expires: { kind: 'text', value: '90d', help: 'Expires after this duration. Default: never' },
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

function create(call: Call, words: readonly string[]): Promise<number> {
  const { args, out } = call
  const name = args.text('name')
  const scopes = args.names('scopes')
  if (words.length > 0) throw usage(`Unexpected argument ${quote(words[0] as string)}.`)
  if (name === undefined || scopes === undefined) {
    throw usage('A token needs a name and scopes.', 'skep tokens create --name ada --scopes admin')
  }
  return reaching(call, { create: !args.on('dry-run') }, async ({ backend }) => {
    if (onlySays(call, `create a token ${quote(name)} with ${clean(scopes.join(', '))}`, { name, scopes })) {
      return EXIT.ok
    }
    const { token, view } = await backend.call('tokens.create', {
      name,
      scopes: scopes as readonly Scope[],
      space: args.on('every-space') ? '*' : backend.space,
      ...(args.on('payloads') ? { payloads: true } : {}),
      ...given({ queues: args.names('queues'), expires: args.duration('expires') as string | undefined }),
    })
    if (out.json) out.object({ token, view })
    else {
      out.data(token)
      out.note(out.paintNote('dim', 'Save it now: it is not stored and cannot be shown again.'))
    }
    return EXIT.ok
  })
}

function revoke(call: Call, words: readonly string[]): Promise<number> {
  const [wanted] = words
  if (wanted === undefined || words.length > 1) throw usage('Name one token.', 'skep tokens revoke <id|name>')
  return reaching(call, { create: false }, async ({ backend }) => {
    const { tokens } = await backend.call('tokens.list', {})
    const found = tokens.find(({ id, name }) => id === wanted || name === wanted)
    if (found === undefined) throw notFound(`There is no token ${quote(wanted)}.`, 'skep tokens')
    const { id, name } = found
    if (onlySays(call, `revoke the token ${quote(name)}`, { id, name })) return EXIT.ok
    await confirm(call, `Revoke the token ${quote(found.name)}?`)
    await backend.call('tokens.revoke', { id: found.id })
    if (call.out.json) call.out.object({ id: found.id, revoked: true })
    else call.out.data(`Revoked ${clean(found.name)}.`)
    return EXIT.ok
  })
}

function list(call: Call): Promise<number> {
  const { out } = call
  return reaching(call, { create: false }, async ({ backend }) => {
    const { tokens } = await backend.call('tokens.list', {})
    if (out.json) out.object({ tokens })
    else if (tokens.length === 0) out.note('There are no tokens. Create one: skep tokens create')
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

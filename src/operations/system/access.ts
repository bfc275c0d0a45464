import { notFound } from '../authorize/authorize-output.ts'
import { operation, type ServerOperation } from '../operation.ts'
import { duration, id, nothing, paged } from '../schema/inputs.ts'
import { momentOrNull, nextPage, said, saidOrNull } from '../schema/outputs.ts'
import { all, flag, list, moment, object, oneOf, optional, type Schema, text } from '../schema/schema.ts'
import { type AuditEntry, type OperationName, SCOPES, type TokenView } from '../schema/wire-types.ts'

const scopes = oneOf(SCOPES)

const token: Schema<TokenView> = object({
  id: said,
  name: said,
  scopes: all(scopes),
  space: said,
  queues: all(said),
  payloads: flag(),
  createdAt: moment(),
  createdBy: said,
  expiresAt: momentOrNull,
  lastUsedAt: momentOrNull,
})

export const tokensList: ServerOperation<'tokens.list'> = operation({
  name: 'tokens.list',
  method: 'GET',
  path: '/tokens',
  summary: 'Access tokens, without secrets.',
  scope: 'admin',
  input: nothing,
  output: object({ tokens: all(token) }),
  run: async (_input, { caller, services }) => ({ tokens: await services.tokens.list(caller) }),
})

export const tokensCreate: ServerOperation<'tokens.create'> = operation({
  name: 'tokens.create',
  method: 'POST',
  path: '/tokens',
  summary: 'Creates an access token. Its secret is returned only once.',
  scope: 'admin',
  input: object({
    name: text({ min: 1, max: 128, about: 'How it is called in the audit.' }),
    scopes: list(scopes, { min: 1, max: SCOPES.length }),
    space: optional(text({ min: 1, max: 128 })),
    queues: optional(
      list(text({ min: 1, max: 128 }), { min: 1, max: 100, about: 'Patterns; all if left out.' }),
    ),
    payloads: optional(flag('Whether payloads, results and logs are shown to it.')),
    expires: optional(duration),
  }),
  output: object({ token: said, view: token }),
  target: ({ name }) => `token "${name}"`,
  run: (input, { caller, services }) => services.tokens.create(caller, input),
})

export const tokensRevoke: ServerOperation<'tokens.revoke'> = operation({
  name: 'tokens.revoke',
  method: 'DELETE',
  path: '/tokens/:id',
  summary: 'Revokes a token at once.',
  scope: 'admin',
  input: object({ id: id('a token') }),
  output: nothing,
  target: (input) => `token ${input.id}`,
  async run(input, { caller, services }) {
    if (!(await services.tokens.revoke(caller, input.id))) throw notFound(`token "${input.id}"`)
    return {}
  },
})

/** It is one of our names, because nothing else is written down. */
const what = said as unknown as Schema<OperationName>

const entry: Schema<AuditEntry> = object({
  id: said,
  at: moment(),
  who: said,
  what,
  target: said,
  outcome: oneOf(['ok', 'refused', 'failed']),
  detail: saidOrNull,
  address: saidOrNull,
})

export const auditList: ServerOperation<'audit.list'> = operation({
  name: 'audit.list',
  method: 'GET',
  path: '/audit',
  summary: 'Audit log, newest first.',
  scope: 'admin',
  input: object({
    ...paged,
    who: optional(text({ max: 128 })),
    what: optional(text({ max: 64, about: 'The name of an operation.' })),
  }),
  output: object({ entries: all(entry), cursor: nextPage }),
  run: (input, { caller, services }) => services.auditLog.list(caller, input),
})

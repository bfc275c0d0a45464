import { notFound } from '../authorize/authorize-output.ts'
import { operation } from '../operation.ts'
import { auditQuery, id, newToken, nothing } from '../schema/inputs.ts'
import { auditPage, said, token } from '../schema/outputs.ts'
import { all, object } from '../schema/schema.ts'

export const tokensList = operation({
  name: 'tokens.list',
  method: 'GET',
  path: '/tokens',
  summary: 'Lists access tokens, without their secrets.',
  scope: 'admin',
  input: nothing,
  output: object({ tokens: all(token) }),
  run: async (_input, { caller, services }) => ({ tokens: await services.tokens.list(caller) }),
})

export const tokensCreate = operation({
  name: 'tokens.create',
  method: 'POST',
  path: '/tokens',
  summary: 'Creates an access token. Only this response contains it.',
  scope: 'admin',
  input: newToken,
  output: object({ token: said, view: token }),
  target: ({ name }) => `token "${name}"`,
  run: (input, { caller, services }) => services.tokens.create(caller, input),
})

export const tokensRevoke = operation({
  name: 'tokens.revoke',
  method: 'DELETE',
  path: '/tokens/:id',
  summary: 'Revokes a token.',
  scope: 'admin',
  input: object({ id: id('a token') }),
  output: nothing,
  target: (input) => `token ${input.id}`,
  async run(input, { caller, services }) {
    if (!(await services.tokens.revoke(caller, input.id))) throw notFound(`token "${input.id}"`)
    return {}
  },
})

export const auditList = operation({
  name: 'audit.list',
  method: 'GET',
  path: '/audit',
  summary: 'Lists the audit log, newest first.',
  scope: 'admin',
  input: auditQuery,
  output: auditPage,
  run: (input, { caller, services }) => services.auditLog.list(caller, input),
})

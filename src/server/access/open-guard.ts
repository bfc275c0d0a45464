import { SkepError } from '../../index.ts'
import { SCOPES, type Scope } from '../api.ts'
import type { Caller } from '../operation.ts'
import type { Guard } from './guard-contract.ts'

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/

/** Lets everybody do everything who asks from this machine, and nobody else. For `dev`, and for tests. */
export function openGuard({ space }: { readonly space: string }): Guard {
  const everything = new Set<Scope>(SCOPES)
  return {
    async identify(_request, { address }): Promise<Caller> {
      if (address !== null && !LOOPBACK.test(address)) {
        throw new SkepError(
          'FORBIDDEN',
          'This server answers only to its own machine. Configure access to open it.',
        )
      }
      return {
        name: 'local',
        scopes: everything,
        space,
        spaces: '*',
        queues: ['*'],
        payloads: true,
        address,
      }
    },
    authorize() {},
    async audit() {},
  }
}

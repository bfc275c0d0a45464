/**
 * Tokens as admins see them through the server: only those that could do nothing they could not do themselves, so that nobody
 * rises by giving a token to himself.
 */
import { SkepError, showValue } from '../../index.ts'
import { coversQueue, maySpace } from '../../operations/authorize/authorize.ts'
import type { Caller } from '../../operations/operation.ts'
import type { InputOf, TokenView } from '../../operations/schema/wire-types.ts'
import type { TokenFields } from './token-fields.ts'
import { type Token, type Tokens, viewOf } from './tokens.ts'

export class TokenList {
  readonly #tokens: Tokens

  readonly #onCreate: () => void

  constructor(tokens: Tokens, onCreate: () => void = () => {}) {
    this.#tokens = tokens
    this.#onCreate = onCreate
  }

  /** Those that the caller may see: of its spaces and queues. */
  async list(caller: Caller): Promise<readonly TokenView[]> {
    return (await this.#tokens.all()).filter((token) => isWithin(caller, token)).map(viewOf)
  }

  /** Makes a token, of at most what the caller reaches. Throws `FORBIDDEN` for more. */
  async create(
    caller: Caller,
    input: InputOf<'tokens.create'>,
  ): Promise<{ readonly token: string; readonly view: TokenView }> {
    const { expires, ...given } = input
    const fields = {
      ...given,
      space: input.space ?? caller.space,
      queues: input.queues ?? caller.queues,
      payloads: input.payloads ?? (caller.payloads && input.scopes.includes('admin')),
      ...(expires === undefined ? {} : { expires: expires as NonNullable<TokenFields['expires']> }),
    }
    if (!isWithin(caller, fields)) {
      throw new SkepError(
        'FORBIDDEN',
        `${showValue(caller.name)} cannot give away what it does not have: stay within its space, its queues, and payloads only if ` +
          'it sees them.',
      )
    }
    const made = await this.#tokens.create(fields, caller.name)
    this.#onCreate()
    return made
  }

  /** Ends one. False if there is none that this caller may see. */
  async revoke(caller: Caller, id: string): Promise<boolean> {
    const token = (await this.#tokens.all()).find((one) => one.id === id)
    return token !== undefined && isWithin(caller, token) && this.#tokens.revoke(id)
  }
}

/** Whether a token reaches no further than the caller. An admin may give every scope: giving access is what the scope is for. */
function isWithin(caller: Caller, token: Pick<Token, 'space' | 'queues' | 'payloads'>): boolean {
  return (
    maySpace(caller, token.space) &&
    token.queues.every((queue) => coversQueue(caller.queues, queue)) &&
    (caller.payloads || !token.payloads)
  )
}

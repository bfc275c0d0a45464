import type { Duration, ErrorGroupView } from '../../index.ts'
import type { InputOf } from '../../server.ts'
import type { Counterpart } from '../connect/backend.ts'
import { ask, askOrNull, type Line } from './ask.ts'

type Errors = Counterpart['errors']

/** Errors that are alike, as a server tells of them. */
export class RemoteErrors implements Errors {
  readonly #line: Line

  constructor(line: Line) {
    this.#line = line
  }

  list(options: InputOf<'errors.list'> = {}): ReturnType<Errors['list']> {
    return ask(this.#line, 'errors.list', options)
  }

  get(id: string): Promise<ErrorGroupView | null> {
    return askOrNull(this.#line, 'errors.get', { id })
  }

  mute(id: string, options: { readonly for?: Duration } = {}): Promise<ErrorGroupView | null> {
    const time = options.for === undefined ? {} : { for: String(options.for) }
    return askOrNull(this.#line, 'errors.mute', { id, ...time })
  }

  unmute(id: string): Promise<ErrorGroupView | null> {
    return askOrNull(this.#line, 'errors.unmute', { id })
  }
}

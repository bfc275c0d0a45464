import type { SchedulePage, ScheduleView } from '../../index.ts'
import type { EnqueueOutput, InputOf } from '../../server.ts'
import type { Counterpart } from '../connect/backend.ts'
import { ask, askOrNull, type Line } from './ask.ts'

type Schedules = Counterpart['schedules']

/** The schedules, as a server tells of them. */
export class RemoteSchedules implements Schedules {
  readonly #line: Line

  constructor(line: Line) {
    this.#line = line
  }

  list(options: InputOf<'schedules.list'> = {}): Promise<SchedulePage> {
    return ask(this.#line, 'schedules.list', options)
  }

  async get(id: string): Promise<ScheduleView | null> {
    const found = await askOrNull<{ readonly schedule: ScheduleView }, 'schedules.get'>(
      this.#line,
      'schedules.get',
      { id },
    )
    return found?.schedule ?? null
  }

  async remove(id: string, options: { readonly force?: boolean } = {}): Promise<boolean> {
    await this.#line.client.call('schedules.remove', { id, ...options })
    return true
  }

  async pause(id: string, { reason }: { readonly reason?: string } = {}): Promise<void> {
    await this.#line.client.call('schedules.pause', { id, ...(reason === undefined ? {} : { reason }) })
  }

  async resume(id: string): Promise<void> {
    await this.#line.client.call('schedules.resume', { id })
  }

  async preview(schedule: string | { readonly id: string }, count = 5): Promise<readonly Date[]> {
    const id = typeof schedule === 'string' ? schedule : schedule.id
    const { next } = await this.#line.client.call('schedules.get', { id, count })
    return next.map(({ at }) => new Date(at))
  }

  runNow(id: string): Promise<EnqueueOutput> {
    return this.#line.client.call('schedules.run', { id })
  }
}

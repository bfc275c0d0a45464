import { type Runtime, systemRuntime } from '../../src/index.ts'

/** A runtime in which time goes so many times as fast. */
export function hurried(times: number): Runtime {
  const runtime = systemRuntime()
  const now = runtime.now()
  const mono = runtime.mono()
  return {
    ...runtime,
    now: () => now + (runtime.now() - now) * times,
    mono: () => mono + (runtime.mono() - mono) * times,
    timer: (ms, act, options) => runtime.timer(ms / times, act, options),
  }
}

import { SkepError } from '../core/errors.ts'
import { show } from '../core/names.ts'
import { assertFlags } from '../core/options.ts'
import type { SkepOptions } from './skep.ts'

/** The methods by which a part is recognized that another package may have written. */
const PARTS = {
  notifier: {
    methods: ['publish', 'subscribe', 'health', 'close'],
    made: "postgresNotifier({ url }), redisNotifier({ url }) or natsNotifier({ servers }); or leave it out for the store's own",
  },
  telemetry: { methods: ['headers', 'send', 'process'], made: 'otel() of skep/otel' },
  runtime: {
    methods: ['now', 'mono', 'random', 'uuid', 'bytes', 'timer', 'defer'],
    made: 'virtualRuntime({ seed }) of skep/testing; or leave it out',
  },
} as const satisfies Partial<Record<keyof SkepOptions, object>>

/** Refuses parts of another kind: most would fail at the first job, and some would only be silent. */
export function assertParts(options: SkepOptions): void {
  const { store, history, version } = options ?? {}
  if (!hasMethods(store, ['insert', 'claim', 'settle', 'ready'])) {
    throw new SkepError(
      'CONFIG_INVALID',
      'createSkep needs a store: memoryStore(), sqliteStore({ file }), postgresStore({ url }) or redisStore({ url }).',
    )
  }
  for (const [name, { methods, made }] of Object.entries(PARTS)) {
    const part = options[name as keyof typeof PARTS]
    if (part !== undefined && !hasMethods(part, methods)) {
      throw invalid(name, part, `${made}. It needs the methods ${methods.join(', ')}`)
    }
  }
  assertFlags('createSkep()', { history })
  if (version !== undefined && typeof version !== 'string') {
    throw invalid('version', version, "a string: '1.4.0'")
  }
}

function hasMethods(part: unknown, methods: readonly string[]): boolean {
  const known = (part ?? {}) as Readonly<Record<string, unknown>>
  return methods.every((name) => typeof known[name] === 'function')
}

function invalid(name: string, value: unknown, expected: string): SkepError {
  return new SkepError('OPTION_INVALID', `${name} of createSkep() is ${show(value)}; use ${expected}.`, {
    facts: { place: 'createSkep()', name },
  })
}

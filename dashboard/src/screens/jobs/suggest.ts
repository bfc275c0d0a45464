import { QUERY_FIELDS } from '../../../../src/core/query/fields.ts'
import { useApi } from '../../api/query.ts'
import { STATE_DESCRIPTIONS, STATES } from '../../ui/state.tsx'
import { quoted } from './query-text.ts'

export interface Suggestion {
  /** The completed term. */
  readonly term: string
  readonly help: string
  /** A field name, which still needs a value. */
  readonly isOpen: boolean
}

const MAX_SUGGESTIONS = 9

const SPANS = [
  ['15m', 'the last 15 minutes'],
  ['1h', 'the last hour'],
  ['24h', 'the last 24 hours'],
  ['7d', 'the last 7 days'],
] as const

/** Completions at the caret: field names, and known values. */
export function useSuggestions(term: string, isOpen: boolean): readonly Suggestion[] {
  const isNegated = term.startsWith('-')
  const text = isNegated ? term.slice(1) : term
  const colon = text.indexOf(':')
  const field = colon < 0 ? '' : text.slice(0, colon)
  const queues = useApi('queues.list', {}, { enabled: isOpen }).data?.queues ?? []
  const workers =
    useApi('workers.list', {}, { enabled: isOpen && (field === 'worker' || field === 'version') }).data
      ?.workers ?? []
  const schedules =
    useApi('schedules.list', { limit: 200 }, { enabled: isOpen && field === 'schedule' }).data?.schedules ??
    []
  const errors =
    useApi(
      'errors.list',
      { limit: 100 },
      { enabled: isOpen && (field.startsWith('error') || field === 'version') },
    ).data?.groups ?? []
  if (!isOpen) return []
  const sign = isNegated ? '-' : ''
  if (colon < 0)
    return fieldsLike(
      text,
      sign,
      queues.map(({ queue }) => queue),
    )
  const values: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    state: STATES.map((state) => [state, STATE_DESCRIPTIONS[state]]),
    queue: queues.map(({ queue, counts }) => [queue, `${counts.ready} waiting, ${counts.running} running`]),
    worker: [...new Set(workers.map(({ host }) => host))].map((host) => [host, 'host']),
    version: [
      ...new Map([
        ...errors.flatMap(({ versions }) =>
          versions.map(({ version }) => [version, 'version with errors'] as const),
        ),
        ...workers.flatMap(({ version }) =>
          version === null ? [] : [[version, 'running version'] as const],
        ),
      ]),
    ],
    schedule: schedules.map(({ id, words }) => [id, words]),
    error: [...new Map(errors.map(({ name, message }) => [name, message]))],
    'error.name': [...new Map(errors.map(({ name, message }) => [name, message]))],
    since: SPANS,
    before: SPANS.map(([span, help]) => [span, `before ${help}`]),
  }
  return valuesLike(`${sign}${field}:`, text.slice(colon + 1), values[field] ?? [])
}

function fieldsLike(text: string, sign: string, queues: readonly string[]): readonly Suggestion[] {
  const wanted = text.toLowerCase()
  const fields = QUERY_FIELDS.filter(({ name }) => name.startsWith(wanted)).map(
    ({ name, kind, help, example }): Suggestion => ({
      term: `${sign}${name}${(kind === 'json' || kind === 'header') && example.includes('.') ? '.' : ':'}`,
      help: `${help} · ${example}`,
      isOpen: true,
    }),
  )
  if (wanted === '') return fields.slice(0, MAX_SUGGESTIONS)
  const states = STATES.filter((state) => state.startsWith(wanted)).map(
    (state): Suggestion => ({
      term: `${sign}state:${state}`,
      help: STATE_DESCRIPTIONS[state],
      isOpen: false,
    }),
  )
  const named = queues
    .filter((queue) => queue.toLowerCase().includes(wanted))
    .map((queue): Suggestion => ({ term: `${sign}queue:${quoted(queue)}`, help: 'queue', isOpen: false }))
  return [...states, ...fields, ...named].slice(0, MAX_SUGGESTIONS)
}

function valuesLike(
  head: string,
  typed: string,
  values: readonly (readonly [string, string])[],
): readonly Suggestion[] {
  // A comma separates values of the same field.
  const comma = typed.lastIndexOf(',')
  const kept = typed.slice(0, comma + 1)
  const last = typed
    .slice(comma + 1)
    .replaceAll('"', '')
    .toLowerCase()
  return values
    .filter(([value]) => value.toLowerCase().includes(last))
    .slice(0, MAX_SUGGESTIONS)
    .map(([value, help]) => ({ term: `${head}${kept}${quoted(value)}`, help, isOpen: false }))
}

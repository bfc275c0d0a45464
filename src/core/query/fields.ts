/** The fields of the query language, for parsers, help and completion. */

export type FieldKind =
  | 'state'
  | 'queue'
  | 'id'
  | 'text'
  | 'number'
  | 'bound'
  | 'moment'
  | 'json'
  | 'header'
  | 'error'

export interface QueryField {
  /** The part before the colon; a trailing dot requires a path. */
  readonly name: string
  readonly kind: FieldKind
  readonly help: string
  readonly example: string
}

/** The fields of the query language, the most used first. */
export const QUERY_FIELDS: readonly QueryField[] = [
  { name: 'state', kind: 'state', help: 'Its state, or any of several', example: 'state:dead,failed' },
  { name: 'queue', kind: 'queue', help: 'Its queue; * matches anything', example: 'queue:mail.*' },
  {
    name: 'error',
    kind: 'error',
    help: 'Name, code, kind or message of its last error',
    example: 'error:~timeout',
  },
  { name: 'payload', kind: 'json', help: 'A value inside its payload', example: 'payload.user.id:42' },
  {
    name: 'since',
    kind: 'bound',
    help: 'Due, started or finished (as fits its state) from then on',
    example: 'since:1h',
  },
  {
    name: 'before',
    kind: 'bound',
    help: 'Due, started or finished before then',
    example: 'before:2026-11-01T00:00Z',
  },
  { name: 'id', kind: 'id', help: 'Its id', example: 'id:019a8f3c-2f1e-7b7a-8c33-5d1f0a9b7e21' },
  { name: 'lane', kind: 'text', help: 'The key of its lane; "" is the default lane', example: 'lane:acme' },
  { name: 'header', kind: 'header', help: 'The value of a header', example: 'header.tenant:acme' },
  {
    name: 'result',
    kind: 'json',
    help: 'A value inside its result',
    example: 'result.ok:true',
  },
  {
    name: 'worker',
    kind: 'text',
    help: 'The id or host of its last worker',
    example: 'worker:web-1',
  },
  {
    name: 'version',
    kind: 'text',
    help: 'The version of the worker on which its last attempt failed',
    example: 'version:2.3.1',
  },
  { name: 'priority', kind: 'number', help: 'Its priority, -100 to 100', example: 'priority:>5' },
  { name: 'attempt', kind: 'number', help: 'How often it was started', example: 'attempt:>=3' },
  { name: 'errors', kind: 'number', help: 'How often its handler threw', example: 'errors:>0' },
  { name: 'timeouts', kind: 'number', help: 'How often its handler timed out', example: 'timeouts:>0' },
  { name: 'lost', kind: 'number', help: 'How often its worker was lost', example: 'lost:>0' },
  {
    name: 'snoozes',
    kind: 'number',
    help: 'How often its handler asked to be called later',
    example: 'snoozes:>10',
  },
  { name: 'generation', kind: 'number', help: 'How often it was retried', example: 'generation:>0' },
  { name: 'cost', kind: 'number', help: 'How much of a rate it uses', example: 'cost:>1' },
  { name: 'enqueued', kind: 'moment', help: 'When it was enqueued', example: 'enqueued:>2h' },
  { name: 'due', kind: 'moment', help: 'When it may start', example: 'due:<+1d' },
  { name: 'started', kind: 'moment', help: 'When it was last started', example: 'started:<30m' },
  { name: 'finished', kind: 'moment', help: 'When it ended', example: 'finished:>=2026-11-01' },
  { name: 'schedule', kind: 'text', help: 'The schedule that made it', example: 'schedule:nightly' },
  { name: 'group', kind: 'text', help: 'The id of its group', example: 'group:*' },
  { name: 'unique', kind: 'text', help: 'Its unique key', example: 'unique:invoice-*' },
  { name: 'copy', kind: 'text', help: 'The id of the job it was copied from', example: 'copy:*' },
]

export const ERROR_PARTS = ['group', 'kind', 'name', 'code', 'message'] as const
export type ErrorPart = (typeof ERROR_PARTS)[number]

const BY_NAME: ReadonlyMap<string, QueryField> = new Map(QUERY_FIELDS.map((field) => [field.name, field]))

export function fieldNamed(name: string): QueryField | undefined {
  return BY_NAME.get(name)
}

export type Operator = '=' | '~' | '>' | '>=' | '<' | '<='

const COMPARES: readonly Operator[] = ['>', '>=', '<', '<=']

/** The operators of each kind of field. */
export const OPERATORS: Readonly<Record<FieldKind, readonly Operator[]>> = {
  state: ['='],
  queue: ['=', '~'],
  id: ['='],
  text: ['=', '~'],
  number: ['=', ...COMPARES],
  bound: ['='],
  moment: COMPARES,
  json: ['=', '~', ...COMPARES],
  header: ['=', '~', ...COMPARES],
  error: ['=', '~'],
}

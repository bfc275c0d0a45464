import type { EnqueueInput } from '../../../../src/operations/schema/wire-types.ts'
import { jsonLine, pythonText, pythonValue, shellWord, tsText, tsValue } from './quote.ts'

/** How the same job is enqueued from elsewhere. */
export const COPY_KINDS = ['curl', 'TypeScript', 'Python', 'CLI'] as const
export type CopyKind = (typeof COPY_KINDS)[number]

export interface Where {
  /** The address of the server with its mount, such as `https://jobs.example.com/admin/`. */
  readonly server: string
  /** Whether the server asks for a token. It is never written out: a variable stands for it. */
  readonly withToken: boolean
  /** The space, if it is not that of the token. */
  readonly space: string | null
}

/** The source for one kind. */
export function copyAs(kind: CopyKind, input: EnqueueInput, where: Where): string {
  switch (kind) {
    case 'curl':
      return curl(input, where)
    case 'TypeScript':
      return typescript(input)
    case 'Python':
      return python(input, where)
    case 'CLI':
      return commandLine(input)
  }
}

const urlOf = ({ server }: Where): string => `${server}api/v1/call/jobs.enqueue`

function curl(input: EnqueueInput, where: Where): string {
  const lines = [
    `curl -sS ${shellWord(urlOf(where))}`,
    "-H 'content-type: application/json'",
    // In double quotes, so that the shell puts the token in.
    ...(where.withToken ? ['-H "authorization: Bearer $SKEP_TOKEN"'] : []),
    ...(where.space === null ? [] : [`-H ${shellWord(`skep-space: ${where.space}`)}`]),
    `--data-raw ${shellWord(jsonLine(input))}`,
  ]
  return lines.join(' \\\n  ')
}

function typescript({ queue, payload, runAt, ...options }: EnqueueInput): string {
  const said = Object.entries(options).filter(([, value]) => value !== undefined)
  const parts = said.map(([key, value]) => `${key}: ${tsValue(value, 1)}`)
  if (runAt !== undefined) parts.push(`runAt: new Date(${tsText(runAt)})`)
  const third = parts.length === 0 ? '' : `, { ${parts.join(', ')} }`
  return [
    "import { queue } from 'skep'",
    '',
    '// Take the queue from where you declare it: then its payload is checked and typed.',
    `const target = queue(${tsText(queue)})`,
    '',
    `const job = await skep.enqueue(target, ${tsValue(payload)}${third})`,
    'console.log(job.id)',
  ].join('\n')
}

function python(input: EnqueueInput, where: Where): string {
  const headers = [
    '"content-type": "application/json"',
    ...(where.withToken ? ['"authorization": "Bearer " + os.environ["SKEP_TOKEN"]'] : []),
    ...(where.space === null ? [] : [`"skep-space": ${pythonText(where.space)}`]),
  ]
  return [
    where.withToken ? 'import json, os, urllib.request' : 'import json, urllib.request',
    '',
    `job = ${pythonValue(input)}`,
    'request = urllib.request.Request(',
    `    ${pythonText(urlOf(where))},`,
    '    data=json.dumps(job).encode(),',
    `    headers={${headers.join(', ')}},`,
    ')',
    'with urllib.request.urlopen(request) as answer:',
    '    print(json.load(answer)["id"])',
  ].join('\n')
}

function commandLine({ queue, payload, headers = {}, ...options }: EnqueueInput): string {
  const flags: [string, string | number | undefined][] = [
    ['delay', options.delay],
    ['run-at', options.runAt],
    ['priority', options.priority],
    ['lane', options.lane],
    ['cost', options.cost],
    ['unique', options.unique],
    ['id', options.id],
    ...Object.entries(headers).map(([name, value]): [string, string] => ['header', `${name}=${value}`]),
  ]
  const said = flags.flatMap(([flag, value]) =>
    value === undefined ? [] : [`--${flag}=${shellWord(String(value))}`],
  )
  return [`npx skep enqueue ${shellWord(queue)}`, `--data=${shellWord(jsonLine(payload))}`, ...said].join(' ')
}

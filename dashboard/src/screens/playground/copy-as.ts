import type { EnqueueInput } from '../../../../src/operations/schema/wire-types.ts'
import { jsonLine, pythonText, pythonValue, shellWord, tsText, tsValue } from './quote.ts'

/** The languages in which the same job can be enqueued. */
export const COPY_KINDS = ['curl', 'TypeScript', 'Python', 'CLI'] as const
export type CopyKind = (typeof COPY_KINDS)[number]

export interface CopyTarget {
  /** The URL of the server with its mount path, such as `https://jobs.example.com/admin/`. */
  readonly server: string
  /** Whether the server requires a token. The output uses a variable, never the token itself. */
  readonly withToken: boolean
  /** The space, unless it is the default one of the token. */
  readonly space: string | null
}

/** Source code for one language. */
export function copyAs(kind: CopyKind, input: EnqueueInput, target: CopyTarget): string {
  switch (kind) {
    case 'curl':
      return curl(input, target)
    case 'TypeScript':
      return typescript(input)
    case 'Python':
      return python(input, target)
    case 'CLI':
      return commandLine(input)
  }
}

const urlOf = ({ server }: CopyTarget): string => `${server}api/v1/call/jobs.enqueue`

function curl(input: EnqueueInput, target: CopyTarget): string {
  const lines = [
    `curl -sS ${shellWord(urlOf(target))}`,
    "-H 'content-type: application/json'",
    // In double quotes, so that the shell expands the token.
    ...(target.withToken ? ['-H "authorization: Bearer $SKEP_TOKEN"'] : []),
    ...(target.space === null ? [] : [`-H ${shellWord(`skep-space: ${target.space}`)}`]),
    `--data-raw ${shellWord(jsonLine(input))}`,
  ]
  return lines.join(' \\\n  ')
}

function typescript({ queue, payload, runAt, ...options }: EnqueueInput): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const parts = given.map(([key, value]) => `${key}: ${tsValue(value, 1)}`)
  if (runAt !== undefined) parts.push(`runAt: new Date(${tsText(runAt)})`)
  const third = parts.length === 0 ? '' : `, { ${parts.join(', ')} }`
  return [
    "import { queue } from 'skep'",
    '',
    '// Import your own queue declaration instead, so that the payload is validated and typed.',
    `const target = queue(${tsText(queue)})`,
    '',
    `const job = await skep.enqueue(target, ${tsValue(payload)}${third})`,
    'console.log(job.id)',
  ].join('\n')
}

function python(input: EnqueueInput, target: CopyTarget): string {
  const headers = [
    '"content-type": "application/json"',
    ...(target.withToken ? ['"authorization": "Bearer " + os.environ["SKEP_TOKEN"]'] : []),
    ...(target.space === null ? [] : [`"skep-space": ${pythonText(target.space)}`]),
  ]
  return [
    target.withToken ? 'import json, os, urllib.request' : 'import json, urllib.request',
    '',
    `job = ${pythonValue(input)}`,
    'request = urllib.request.Request(',
    `    ${pythonText(urlOf(target))},`,
    '    data=json.dumps(job).encode(),',
    `    headers={${headers.join(', ')}},`,
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(json.load(response)["id"])',
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
  const args = flags.flatMap(([flag, value]) =>
    value === undefined ? [] : [`--${flag}=${shellWord(String(value))}`],
  )
  return [`npx skep enqueue ${shellWord(queue)}`, `--data=${shellWord(jsonLine(payload))}`, ...args].join(' ')
}

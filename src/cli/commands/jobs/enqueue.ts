import { fstatSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type EnqueueOptions, type PriorityMode, parseExact, queue, SkepError } from '../../../index.ts'
import type { Arguments } from '../../arguments.ts'
import { DRY_RUN_FLAG, onlySays } from '../../change/dry-run.ts'
import { MODE_FLAG, readMode } from '../../change/prioritize.ts'
import type { Call, Command } from '../../command.ts'
import { type Reached, reaching } from '../../connect/connect.ts'
import { EXIT, usage } from '../../exit.ts'
import { briefly } from '../../explain-error.ts'
import { quote, safeJson } from '../../format/text.ts'
import type { Output } from '../../output.ts'

export const enqueueCommand: Command = {
  name: 'enqueue',
  summary: 'Enqueue a job and print its id',
  usage: ['enqueue <queue> [-d <json>] [flags]', 'enqueue <queue> < payload.json'],
  flags: {
    data: { kind: 'text', short: 'd', value: 'json', help: 'The payload; @file reads a file, - reads stdin' },
    delay: { kind: 'text', value: '5m', help: 'Start not earlier than this duration from now' },
    'run-at': { kind: 'text', value: 'date', help: 'Start not earlier than this time (ISO 8601)' },
    priority: { kind: 'text', value: 'n', help: '-100 to 100. Default: 0' },
    'priority-mode': MODE_FLAG,
    unique: { kind: 'text', value: 'key', help: 'Unique key: do nothing if a waiting or running job has it' },
    lane: { kind: 'text', value: 'key', help: "Lane key. Default: the queue's" },
    cost: { kind: 'text', value: 'n', help: "Cost against a rate limit. Default: the queue's" },
    header: { kind: 'list', value: 'name=value', help: 'A header of the job' },
    id: { kind: 'text', value: 'uuid', help: 'The id; enqueuing the same id again does nothing' },
    wait: { kind: 'optional', value: '30s', help: 'Wait for the result and print it' },
    'dry-run': DRY_RUN_FLAG,
  },
  examples: [
    `skep enqueue mail.send -d '{"to":"ada@example.com"}'`,
    'skep enqueue report.build -d @report.json --delay 10m --priority 5',
    `echo '{"month":"2026-11"}' | skep enqueue report.build --wait 2m`,
  ],

  async run(call) {
    const { args, out } = call
    const [name, ...rest] = args.words
    if (name === undefined) throw usage('Which queue?', 'skep enqueue <queue> -d <json>')
    if (rest[0] !== undefined) {
      throw usage(
        `${quote(rest[0])} is an unexpected argument.`,
        'Give the payload with -d, in quotes: -d \'{"a": 1}\'',
      )
    }
    const payload = await readPayload(call)
    const options = readOptions(args)
    const mode = readMode(args)
    const wait = args.text('wait')
    const timeout = wait === undefined || wait === '' ? undefined : args.duration('wait')

    return reaching(call, { create: !args.on('dry-run') }, async (opened) => {
      const queue = queueOf(opened, name, mode)
      if (onlySays(call, `enqueue a job in ${queue.name}`, { queue: queue.name, payload })) return EXIT.ok
      const job = await opened.backend.enqueue(queue, payload, options)
      if (job.duplicate) out.note('This job exists already, so nothing was enqueued.')
      if (wait === undefined) {
        if (out.json) out.object({ id: job.id, queue: name, duplicate: job.duplicate })
        else out.data(job.id)
        return EXIT.ok
      }
      if (!out.json) out.note(job.id)
      const stopLooking = warnWithoutWorker(opened, job.id, out)
      const result = await job.result(timeout === undefined ? {} : { timeout }).finally(stopLooking)
      if (out.json) out.object({ id: job.id, queue: name, duplicate: job.duplicate, result: result ?? null })
      else out.data(safeJson(result ?? null, process.stdout.isTTY ? 2 : undefined))
      return EXIT.ok
    })
  },
}

/** A job that a worker takes at once has ended by then, and costs no look at all. */
const FIRST_LOOK_MS = 500
const LAST_LOOK_MS = 10_000

/**
 * Warns once when no live worker handles the queue of a job that is due: waiting for its result would otherwise look like a
 * hang. Looks less and less often, because a worker may also exit later.
 */
function warnWithoutWorker({ backend, server }: Reached, id: string, out: Output): () => void {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const look = async (waitedMs: number): Promise<void> => {
    // A token may not be allowed to see that, and the store may be away: the wait itself reports what matters.
    const { queue, causes = [] } = (await backend.call('jobs.explain', { id }).catch(() => null)) ?? {}
    if (stopped) return
    const kinds = causes.map(({ cause }) => cause)
    if (!kinds.includes('no-worker') || kinds.includes('not-due')) return next(waitedMs * 2)
    const where = server === null ? '' : ', on a machine that reaches the database of the server'
    out.warn(
      `No live worker handles the queue ${quote(queue ?? '')}, so job ${id} waits until one starts. ` +
        `Start one${where}: skep worker`,
    )
  }
  const next = (ms: number): void => {
    timer = setTimeout(() => void look(ms), Math.min(ms, LAST_LOOK_MS))
  }
  next(FIRST_LOOK_MS)
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

/** The queue as the config declares it, so that its schema and its unique key hold here too; else a plain one. */
export function queueOf({ handlers }: Reached, name: string, mode?: PriorityMode): ReturnType<typeof queue> {
  const known = handlers.find((handler) => handler.queue.name === name)?.queue
  const declared =
    known === undefined
      ? queue(name, mode === undefined ? {} : { priorityMode: mode })
      : (known as unknown as ReturnType<typeof queue>)
  if (mode === undefined || mode === declared.priorityMode) return declared
  throw usage(
    `--priority-mode is ${mode}, but the config declares ${quote(name)} as ${declared.priorityMode}.`,
  )
}

function readOptions(args: Arguments): EnqueueOptions {
  const delay = args.duration('delay')
  const runAt = args.moment('run-at')
  const priority = args.whole('priority', { min: -100, max: 100 })
  const unique = args.text('unique')
  const lane = args.text('lane')
  const cost = args.whole('cost', { min: 1, max: 1_000_000 })
  const id = args.text('id')
  const headers: Record<string, string> = {}
  for (const header of args.list('header')) {
    const at = header.indexOf('=')
    if (at < 1) throw usage(`--header is ${quote(header)}; use name=value.`)
    headers[header.slice(0, at)] = header.slice(at + 1)
  }
  return {
    ...(delay === undefined ? {} : { delay }),
    ...(runAt === undefined ? {} : { runAt }),
    ...(priority === undefined ? {} : { priority }),
    ...(unique === undefined ? {} : { unique }),
    ...(lane === undefined ? {} : { lane }),
    ...(cost === undefined ? {} : { cost }),
    ...(id === undefined ? {} : { id }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  }
}

/** The payload that was typed, or comes from a file or stdin; null without one. */
export async function readPayload({ args, cwd, out }: Call): Promise<unknown> {
  const data = args.text('data')
  if (data === '-') return parse(await readStdin(out), 'stdin')
  if (data?.startsWith('@') === true)
    return parse(readFile(resolve(cwd, data.slice(1))), quote(data.slice(1)))
  if (data !== undefined) return parse(data, '--data')
  const text = stdinIsGiven() ? await readStdin(out) : ''
  return text.trim() === '' ? null : parse(text, 'stdin')
}

function parse(text: string, source: string): unknown {
  try {
    return parseExact('payload', text)
  } catch (cause) {
    if (cause instanceof SkepError) throw cause
    throw new SkepError('PAYLOAD_NOT_JSON', `The payload from ${source} is not JSON: ${briefly(cause)}.`)
  }
}

/** A pipe or a file, and not a terminal or nothing. */
function stdinIsGiven(): boolean {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || stat.isFile() || stat.isSocket()
  } catch {
    return false
  }
}

async function readStdin(out: Output): Promise<string> {
  // A program that started us may have left our stdin open without meaning to write to it.
  const timer = setTimeout(() => out.note('Reading the payload from stdin. Without one, use: -d null'), 2_000)
  try {
    const chunks: Buffer[] = []
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString('utf8')
  } catch (cause) {
    throw usage(`stdin cannot be read: ${briefly(cause)}`, 'Give the payload with -d.')
  } finally {
    clearTimeout(timer)
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw usage(`The payload cannot be read: ${briefly(cause)}`)
  }
}

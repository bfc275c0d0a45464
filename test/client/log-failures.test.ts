import { describe, expect, it } from 'vitest'
import { createSkep, fixed, type Logger, queue, retry, type Skep } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'

function open(): { skep: Skep; lines: string[] } {
  const lines: string[] = []
  const write = (level: string) => (message: string) => void lines.push(`${level} ${message}`)
  const logger: Logger = { debug: () => {}, info: () => {}, warn: write('warn'), error: write('error') }
  return { skep: createSkep({ store: memoryStore(), logger }), lines }
}

describe('A handler that throws', () => {
  it('is logged with its job, queue, attempt and what happens next; the last attempt with its stack', async () => {
    const { skep, lines } = open()
    const mail = queue<number>('mail', { onError: retry(1, fixed(0)) })
    skep.worker([
      mail.handle(() => {
        throw new TypeError('no address', { cause: new RangeError('empty list') })
      }),
    ])

    const job = await skep.enqueue(mail, 1)
    await job.result().catch(() => {})
    await skep.close()

    expect(lines).toEqual([
      `warn Job ${job.id} of queue "mail" failed on attempt 1 and will be retried now: TypeError: no address`,
      expect.stringMatching(
        /^error Job \S+ of queue "mail" is dead after attempt 2: TypeError: no address\n\s+at .*log-failures\.test\.ts/,
      ),
    ])
    expect(lines[1]).toContain('caused by RangeError: empty list')
  })

  it('cannot forge a line of the log', async () => {
    const { skep, lines } = open()
    const mail = queue<number>('mail', { onError: retry(1, fixed(0)) })
    skep.worker([
      mail.handle(() => {
        throw new Error('no\n[skep] Everything is fine.\u202e\u001b[2J')
      }),
    ])

    const job = await skep.enqueue(mail, 1)
    await job.result().catch(() => {})
    await skep.close()

    expect(lines[0]).toContain('no [skep] Everything is fine. [2J')
    const starts = lines
      .join('\n')
      .split('\n')
      .filter((line) => line.startsWith('[skep]'))
    expect(starts).toEqual([])
    expect(lines.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u)
  })

  it('does not flood the log with attempts that are retried: what is left out is counted', async () => {
    const { skep, lines } = open()
    const mail = queue<number>('mail', { onError: retry(5, fixed(0)) })
    skep.worker([mail.handle(fail)])

    const jobs = await skep.enqueueMany(mail, numbers(100))
    await Promise.allSettled(jobs.map((job) => job.result()))
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    await (await skep.enqueue(mail, 1)).result().catch(() => {})
    await skep.close()

    const retried = lines.filter((line) => line.includes(' will be retried '))
    const omitted = lines.flatMap((line) => /(\d+) more failed attempts/.exec(line)?.[1] ?? [])
    expect(retried.length).toBeLessThan(200)
    expect(retried.length + omitted.reduce((sum, count) => sum + Number(count), 0)).toBe(101 * 5)
  })

  it('never leaves out the last attempt of a job, nor its stack, however many attempts fail', async () => {
    const { skep, lines } = open()
    const mail = queue<number>('mail', { onError: retry(2, fixed(0)) })
    skep.worker([mail.handle(fail)])

    const jobs = await skep.enqueueMany(mail, numbers(100))
    await Promise.allSettled(jobs.map((job) => job.result()))
    await skep.close()

    const dead = lines.filter((line) => line.startsWith('error '))
    const logged = dead.map((line) => /Job (\S+) of queue "mail" is dead after attempt 3: /.exec(line)?.[1])
    expect(logged).toHaveLength(100)
    expect(new Set(logged)).toEqual(new Set(jobs.map(({ id }) => id)))
    expect(dead.filter((line) => !/\n\s+at .*log-failures\.test\.ts/.test(line))).toEqual([])
  })
})

function fail(): never {
  throw new Error('SMTP is down')
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}

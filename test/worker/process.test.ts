import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'

const program = fileURLToPath(new URL('./support/life.ts', import.meta.url))

/** Starts the program. It is ended with the test, should it not end by itself. */
function live(how: string): { child: ChildProcess; words: string[]; ended: Promise<number | null> } {
  const child = spawn(process.execPath, ['--import', 'jiti/register', program, how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const words: string[] = []
  createInterface({ input: child.stdout! }).on('line', (line) => words.push(line))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, words, ended }
}

describe('a process', () => {
  it('ends by itself after its worker has stopped, whatever is still delayed', async () => {
    const { words, ended } = live('stop and end')

    expect(await ended).toBe(0)
    expect(words).toEqual(['6', 'stopped'])
  })

  it('ends by itself after close', async () => {
    const { words, ended } = live('close and end')

    expect(await ended).toBe(0)
    expect(words).toEqual(['7', 'CLOSED', 'closed'])
  })

  it('ends by itself when it only enqueues, without any close', async () => {
    const { words, ended } = live('only enqueue')

    expect(await ended).toBe(0)
    expect(words).toEqual(['enqueued'])
  })

  it('ends by itself although a call to the store was never answered', async () => {
    const { words, ended } = live('wait for a store that hangs')

    expect(await ended).toBe(0)
    expect(words).toEqual(['asked'])
  })

  it('is kept alive by a drain, also when the handler holds nothing that would', async () => {
    const { words, ended } = live('drain a handler that holds nothing')

    expect(await ended).toBe(0)
    expect(words).toEqual(['ready'])
  })

  it('lives for its worker alone, until that is stopped', async () => {
    const { child, words, ended } = live('work until told')
    await once(child.stdout!, 'data')

    child.kill('SIGTERM')

    expect(await ended).toBe(0)
    expect(words).toEqual(['still here', 'stopped'])
  })
})

import { readFileSync } from 'node:fs'
import { queue } from 'skep'
import { beforeAll, describe, expect, it } from 'vitest'
import { installPython } from '../servers/grpc-tools.ts'
import { example, python, pythonCode, stage } from './stage.ts'

const mail = queue<{ to: string }, { sent: boolean }>('mail')

describe('the Python example', () => {
  beforeAll(() => {
    expect(installPython()).toBeUndefined()
  }, 600_000)

  it('has twelve lines and receives jobs over gRPC', async () => {
    const { skep, address } = await stage()
    const child = python(example('receiver.py'), [address], pythonCode())
    let said = ''
    child.stdout?.on('data', (chunk) => {
      said += String(chunk)
    })
    child.stderr?.on('data', (chunk) => {
      said += String(chunk)
    })

    const jobs = await skep.enqueueMany(
      mail,
      Array.from({ length: 250 }, (_, n) => ({ to: `user${n}@example.com` })),
    )
    const results = await Promise.all(jobs.map((job) => job.result({ timeout: '25s' })))

    expect(results.every(({ sent }) => sent)).toBe(true)
    expect(said).toContain('mail to user249@example.com')
    const lines = readFileSync(example('receiver.py'), 'utf8').split('\n').slice(1)
    expect(lines.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(12)
  })

  it('is what docs/receivers.md shows', () => {
    const docs = readFileSync(new URL('../../docs/receivers.md', import.meta.url), 'utf8')
    const [, shown] = /```python\n([\s\S]*?)```/.exec(docs) ?? []
    const [, ...lines] = readFileSync(example('receiver.py'), 'utf8').split('\n')

    expect(shown).toBe(lines.join('\n'))
  })
})

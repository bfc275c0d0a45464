import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { project, skep } from './cli.ts'

describe('skep top', () => {
  it('gives programs one object after another, with queues and workers, and runs nothing', async () => {
    const cwd = project()
    await skep(['enqueue', 'mail.send', '-d', '{}'], { cwd })

    const { stdout, code } = await skep(['top', '--json', '--for', '3s'], { cwd })

    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    expect(code).toBe(0)
    expect(last.rows).toEqual([
      expect.objectContaining({ name: 'mail.send', states: expect.objectContaining({ ready: 1 }) }),
    ])
    expect(last.presences).toEqual([])
  })

  it('says what it did not find', async () => {
    const { stderr, code } = await skep(['top'], { cwd: project() })

    expect(stderr).toContain('There is no database')
    expect(code).toBe(3)
  })
})

describe('skep completion', () => {
  it('completes commands, actions and flags in bash', async () => {
    const cwd = project()
    const { stdout } = await skep(['completion', 'bash'], { cwd })
    writeFileSync(join(cwd, 'skep.bash'), stdout)
    const complete = (line: string): string[] => {
      const words = line.split(' ')
      const last = words.at(-1) ?? ''
      const script =
        `source ./skep.bash; COMP_LINE='${line}'; COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; ` +
        `_skep skep '${last}' '${words.at(-2) ?? ''}'; printf '%s\\n' "\${COMPREPLY[@]}"`
      return spawnSync('bash', ['-c', script], { cwd, encoding: 'utf8' }).stdout.trim().split('\n')
    }

    expect(complete('skep qu')).toEqual(['queues'])
    expect(complete('skep queues pa')).toEqual(['pause'])
    expect(complete('skep jobs --js')).toEqual(['--json'])
    expect(complete('skep completion f')).toEqual(['fish'])
  })

  it('says which shells there are', async () => {
    const { stderr, code } = await skep(['completion', 'tcsh'], { cwd: project() })

    expect(stderr).toContain('skep completion bash|zsh|fish')
    expect(code).toBe(2)
  })
})

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asInstalled, project, skep } from './cli.ts'

asInstalled()

describe('skep init', () => {
  it('writes jobs and a config that run as they are', async () => {
    const cwd = project()

    const planned = await skep(['init', '--dry-run'], { cwd })
    const before = readdirSync(cwd)
    const alone = await skep(['init'], { cwd })
    const made = await skep(['init', '--yes'], { cwd })
    const run = await skep(['dev', '--plain', '--port', '0', '--for', '1s'], { cwd })

    expect(planned.stderr).toContain("+ import { exponential, queue, retry } from 'skep'")
    expect(before).toEqual(['node_modules'])
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(made.stdout).toBe('Wrote jobs.ts, skep.config.ts, package.json.\n')
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/Handlers +mail\.send/) })
  })

  it('sees what a project is made of, and leaves its files alone', async () => {
    const manifest = {
      name: 'shop',
      scripts: { 'jobs:dev': 'mine' },
      dependencies: { express: '5', 'drizzle-orm': '0.45', pg: '8' },
    }
    const files = {
      'package.json': `${JSON.stringify(manifest, null, 4)}\n`,
      'pnpm-lock.yaml': '',
      'jobs.mjs': '// mine\n',
    }
    const cwd = project(files)

    const { stdout, stderr } = await skep(['init', '--yes', '--json'], { cwd })

    const text = (name: string): string => readFileSync(join(cwd, name), 'utf8')
    const told = JSON.parse(stdout)
    expect(stderr).toBe('')
    expect(told).toMatchObject({ written: ['skep.config.mjs', 'package.json'], kept: ['jobs.mjs'] })
    expect(told.next[0]).toMatch(/^pnpm add skep/)
    expect(told.mount).toContain("app.use('/admin/jobs', toNode(handler))")
    expect(text('jobs.mjs')).toBe('// mine\n')
    expect(text('skep.config.mjs')).toContain("process.env['DATABASE_URL']")
    expect(text('package.json')).toContain(
      '    "scripts": {\n        "jobs:dev": "mine",\n        "jobs:worker"',
    )
    expect(existsSync(join(cwd, 'jobs.ts'))).toBe(false)
  })
})

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { missingProgram } from '../servers/missing.ts'
import { asInstalled, builtPackage, CONFIG, project, skep, start } from './cli.ts'

asInstalled()

const hasTerminal = missingProgram('script') === undefined

describe('skep dev --demo', () => {
  it('drains at Ctrl-C with exit code 0, and starts again on what it left', async () => {
    const cwd = project()
    const first = start(['dev', '--demo'], { cwd })
    await first.until(/mail\.send .*done [1-9]/)

    first.child.kill('SIGINT')
    const ended = await first.ended
    const { queues } = JSON.parse((await skep(['queues', '--json', '--db', '.skep/demo.db'], { cwd })).stdout)
    const second = await skep(['dev', '--demo', '--for', '3s'], { cwd })

    expect(ended.code).toBe(0)
    expect(ended.stdout).toMatch(/Stopped after .* done, .* The jobs stay in \.skep\/demo\.db\./)
    expect(queues.map(({ queue }: { queue: string }) => queue)).toContain('report.build')
    expect(queues.reduce((sum: number, { running }: { running: number }) => sum + running, 0)).toBe(0)
    expect(second.code).toBe(0)
    expect(second.stdout).toContain('Stopped after')
  })

  it('starts again after its process was killed', async () => {
    const cwd = project()
    const first = start(['dev', '--demo'], { cwd })
    await first.until(/mail\.send .*done [1-9]/)
    first.child.kill('SIGKILL')
    await first.ended

    const second = await skep(['dev', '--demo', '--for', '3s'], { cwd })

    expect(second.code).toBe(0)
    expect(second.stdout).toMatch(/mail\.send .*done/)
  })

  it('replaces a demo file that it cannot read', async () => {
    const cwd = project({ '.skep/demo.db': 'this is no database, but long enough to look at: '.repeat(50) })

    const { code, stdout } = await skep(['dev', '--demo', '--for', '2s'], { cwd })

    expect(stdout).toContain('mail.send')
    expect(code).toBe(0)
  })

  it('gives programs one object after another', async () => {
    const { stdout, code } = await skep(['dev', '--demo', '--json', '--for', '3s'], { cwd: project() })

    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toBe(0)
    expect(lines.at(-1)).toMatchObject({ workers: expect.any(Number), rows: expect.any(Array) })
  })

  it.skipIf(!hasTerminal)('draws in a terminal, and gives it back as it was', async () => {
    const cwd = project()
    const main = join(builtPackage(), 'dist/esm/cli/main.js')
    const command = `stty cols 80 rows 24; "${process.execPath}" "${main}" dev --demo --no-open`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd,
      env: { ...process.env, TERM: 'xterm' },
    })
    let screen = ''
    // Each key goes in once the screen shows what it is about: queues are there before their first job, and only
    // a job that ran can be sent again. Pressing q twice hurries nothing.
    const keys: [RegExp, string][] = [
      [/QUEUE.*mail\.send.*RECENT.*✓/s, 's'],
      [/Copied/, 'p'],
      [/Paused/, 'p'],
      [/Resumed/, 'qq'],
    ]
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      screen += chunk
      const [next] = keys
      if (next?.[0].test(screen)) child.stdin.write(keys.shift()?.[1] ?? '')
    })
    const code = await new Promise((resolve) => child.once('close', resolve))

    const [enter, leave] = ['\u001b[?1049h', '\u001b[?1049l']
    expect(code).toBe(0)
    expect(screen.indexOf(enter)).toBeGreaterThanOrEqual(0)
    expect(screen.indexOf(leave)).toBeGreaterThan(screen.indexOf(enter))
    expect(screen.lastIndexOf('\u001b[?25h')).toBeGreaterThan(screen.lastIndexOf('\u001b[?25l'))
    expect(screen).toMatch(/http:\/\/127\.0\.0\.1:\d+/)
    expect(screen).toMatch(/Stopped after .*\s*$/)
  })
})

describe('skep dev', () => {
  it('has an example where there is no config', async () => {
    const cwd = project()
    const dev = start(['dev', '--plain'], { cwd })
    await dev.until(/skep dev on \.skep\/dev\.db/)

    const { stdout } = await skep(['enqueue', 'hello', '-d', '{"name":"you"}', '--wait', '20s'], { cwd })
    dev.child.kill('SIGTERM')

    expect(JSON.parse(stdout)).toEqual({ greeting: 'Hello, you!' })
    expect(await dev.ended).toMatchObject({ code: 0 })
    expect(readdirSync(join(cwd, '.skep'))).toContain('.gitignore')
  })

  it('runs the handlers of the config', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const dev = start(['dev'], { cwd })
    await dev.until(/skep dev on the store of skep\.config\.ts/)

    const { stdout } = await skep(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '20s'], { cwd })
    dev.child.kill('SIGINT')

    expect(JSON.parse(stdout)).toEqual({ text: 'Hello, Ada!' })
    expect(await dev.ended).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!hasTerminal)('colours', () => {
  it('are for terminals, unless somebody said no', () => {
    const main = join(builtPackage(), 'dist/esm/cli/main.js')
    const inTerminal = (args: string, env: NodeJS.ProcessEnv = {}): string => {
      const { NO_COLOR: _, ...rest } = process.env
      const command = ['-qec', `"${process.execPath}" "${main}" ${args}`, '/dev/null']
      return spawnSync('script', command, { env: { ...rest, TERM: 'xterm', ...env }, encoding: 'utf8' })
        .stdout
    }

    expect(inTerminal('help')).toContain('\u001b[')
    expect(inTerminal('help --no-color')).not.toContain('\u001b[')
    expect(inTerminal('help', { NO_COLOR: '1' })).not.toContain('\u001b[')
    expect(inTerminal('help', { SKEP_NO_COLOR: '1' })).not.toContain('\u001b[')
    expect(inTerminal('help', { TERM: 'dumb' })).not.toContain('\u001b[')
  })
})

describe('a reader that goes away', () => {
  it('ends a command quietly', async () => {
    const cwd = project()
    writeFileSync(join(cwd, 'many.json'), JSON.stringify('x'.repeat(100_000)))
    for (let n = 0; n < 3; n++) await skep(['enqueue', 'a', '-d', '@many.json'], { cwd })

    const list = start(['jobs', '--json'], { cwd })
    list.child.stdout?.destroy()
    const { code, stderr } = await list.ended

    expect(stderr).toBe('')
    expect(code).toBe(0)
  })

  it('lets a worker go on', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const worker = start(['worker'], { cwd })
    await worker.until(/started/)
    worker.child.stdout?.destroy()

    // The first makes the handler write to the closed output, the second shows that the worker still works.
    await skep(['enqueue', 'slow'], { cwd })
    const { stdout } = await skep(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '20s'], { cwd })

    expect(JSON.parse(stdout)).toEqual({ text: 'Hello, Ada!' })
  })

  it('lets a development session drain', async () => {
    const cwd = project()
    const dev = start(['dev', '--demo'], { cwd })
    await dev.until(/skep demo/)

    dev.child.stdout?.destroy()
    const { code } = await dev.ended

    expect(code).toBe(0)
    expect(existsSync(join(cwd, '.skep/demo.db'))).toBe(true)
  })
})

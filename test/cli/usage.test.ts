import { describe, expect, it } from 'vitest'
import { asInstalled, project, skep } from './cli.ts'

asInstalled()

describe('the command line', () => {
  it('shows its commands, and the page of each', async () => {
    const cwd = project()

    const [bare, help, page, version, word] = await Promise.all([
      skep([], { cwd }),
      skep(['help', 'enqueue'], { cwd }),
      skep(['enqueue', '--help'], { cwd }),
      skep(['--version'], { cwd }),
      skep(['version'], { cwd }),
    ])

    expect(bare.code).toBe(0)
    for (const name of [
      'init',
      'dev',
      'worker',
      'server',
      'enqueue',
      'queues',
      'jobs',
      'dead',
      'errors',
      'bulk',
      'workers',
      'receivers',
      'schedules',
      'tokens',
      'openapi',
      'proto',
      'migrate',
      'doctor',
      'bench',
    ]) {
      expect(bare.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
    }
    expect(page.stdout).toBe(help.stdout)
    expect(page.stdout).toContain('--priority <n>')
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+/)
    expect(word.stdout).toBe(version.stdout)
  })

  it.each([
    [['queus'], 'Did you mean "skep queues"?'],
    [['hlep'], 'Did you mean "skep help"?'],
    [['queues', '--jsno'], 'Did you mean "--json"?'],
    [['enqueue', 'a', '--priorty', '3'], 'Did you mean "--priority"?'],
    [['jobs', 'cancle'], 'Did you mean "skep jobs cancel"?'],
    [['jobs', '--state', 'deat'], 'Did you mean "dead"?'],
    [['queues', '--delay', '5m'], 'it belongs to skep enqueue'],
    [['enqueue', 'a', '--delay', 'soon'], 'use a number with a unit'],
    [['enqueue', 'a', '--priority', '1000'], 'from -100 to 100'],
    [['enqueue', 'a', '--run-at', 'tomorrow'], 'use a date like'],
    [['enqueue', 'a', '--header', 'nothing'], 'use name=value'],
    [['enqueue', 'a', '-d'], '--data needs a value'],
    [['enqueue', 'a', '-d', '{"a":'], 'is not JSON'],
    [['enqueue', 'no spaces', '-d', '1'], 'not a valid name'],
    [['enqueue'], 'Which queue?'],
    [['queues', '--db'], '--db needs a value'],
    [['queues', '--json=yes'], '--json takes no value'],
    [['queues', '--db', 'mysql://root:secret@host/a'], 'no store for mysql://root:***@host/a'],
    [['queues', '--db', 'redis://:secret@a b'], 'redis://:***@a b is not an address'],
    [['queues', '--db', 'redis://host', '--schema', 'x'], 'in Redis it is --prefix'],
    [['queues', '--db', 'postgres://host/a', '--prefix', 'x'], 'in PostgreSQL it is --schema'],
    [['queues', '--db', 'jobs.db', '--prefix', 'x'], 'a SQLite file has none'],
    [['worker'], 'no config file'],
    [['dev', '--demo', 'x.ts'], 'takes no entry'],
  ])('refuses %j with exit code 2 and says what to do', async (args, words) => {
    const { code, stdout, stderr } = await skep(args, { cwd: project() })

    expect(stderr).toContain(words)
    expect(stderr).not.toContain('secret')
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  it('takes every flag from the environment, and the command line wins', async () => {
    const cwd = project()
    const env = { SKEP_DB: 'env.db', SKEP_JSON: '1', SKEP_PRIORITY: '7', SKEP_HEADER: 'a=1\nb=2' }

    const { stdout } = await skep(['enqueue', 'mail', '-d', '1'], { cwd, env })
    const { id } = JSON.parse(stdout)
    const found = await skep(['jobs', 'get', id, '--db', './env.db'], {
      cwd,
      env: { ...env, SKEP_DB: 'other.db' },
    })
    const missing = await skep(['queues'], { cwd, env: { SKEP_DB: 'other.db' } })

    expect(JSON.parse(found.stdout).jobs[0]).toMatchObject({ priority: 7, headers: { a: '1', b: '2' } })
    expect(missing.code).toBe(3)
  })

  it('gives errors as objects to those who asked for JSON', async () => {
    const cwd = project()

    const wrong = await skep(['queues', '--nope', '--json'], { cwd })
    const missing = await skep(['queues', '--json', '--db', 'none.db'], { cwd })

    expect(JSON.parse(wrong.stderr).error).toMatchObject({ code: 'USAGE', exitCode: 2 })
    expect(JSON.parse(missing.stderr).error).toMatchObject({ code: 'NOT_FOUND', exitCode: 3 })
    expect(missing.code).toBe(3)
  })

  it('makes no file when it only looks', async () => {
    const cwd = project()

    const looks = [['queues'], ['jobs'], ['dead'], ['schedules'], ['doctor'], ['migrate', 'status']]
    const codes = await Promise.all(looks.map(async (args) => (await skep(args, { cwd })).code))
    const again = await skep(['queues'], { cwd })

    expect(codes).toEqual([3, 3, 3, 3, 1, 3])
    expect(again.stderr).toContain('There is no database ".skep/dev.db" yet.')
  })
})

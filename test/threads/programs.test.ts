// Whole programs: bundled into one file or several, as ES modules and as CommonJS, and TypeScript as it is.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { bundle, root, testFolder } from './support.ts'

const folder = testFolder()

/** Runs a program to its end, which must come by itself. */
async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; lines: string[]; errors: string }> {
  const alias = { skep: join(root, 'src/index.ts'), 'skep/memory': join(root, 'src/memory.ts') }
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, NODE_OPTIONS: '', JITI_ALIAS: JSON.stringify(alias), ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += String(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += String(chunk)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, lines: output.split('\n').filter((line) => line !== ''), errors }
}

describe.each([
  ['esm', 'mjs'],
  ['cjs', 'cjs'],
] as const)('a program bundled as %s', (format, ending) => {
  beforeAll(() =>
    bundle(
      {
        [`one-file.${ending}`]: 'one-file.ts',
        [`two-files.${ending}`]: 'two-files.ts',
        [`work.${ending}`]: 'work.thread.ts',
      },
      folder,
      format,
    ),
  )

  it('in one file runs its handlers in threads, and ends by itself', async () => {
    const { code, lines } = await run([join(folder, `one-file.${ending}`)])

    expect(lines).toEqual(['49 in a thread', '27', 'closed'])
    expect(code).toBe(0)
  })

  it('in one file starts no threads from threads', async () => {
    const { code, errors } = await run([join(folder, `one-file.${ending}`)], { UNGUARDED: 'yes' })

    expect(errors).toContain('A thread of a worker starts a worker with threads for queue "square"')
    expect(code).toBe(1)
  })

  it('in two files runs its handlers in threads, and ends by itself when its worker has stopped', async () => {
    const { code, lines } = await run([join(folder, `two-files.${ending}`), `./work.${ending}`])

    expect(lines).toEqual(['3', 'alive at attempt 2', '7', 'stopped'])
    expect(code).toBe(0)
  })
})

describe('a program in TypeScript', () => {
  it('runs TypeScript in its threads too: they are started with the options of the process', async () => {
    const program = join(root, 'test/threads/modules/two-files.ts')

    const { code, lines, errors } = await run(['--import', 'jiti/register', program, './work.thread.ts'])

    expect({ lines, errors }).toMatchObject({ lines: ['3', 'alive at attempt 2', '7', 'stopped'] })
    expect(code).toBe(0)
  })
})

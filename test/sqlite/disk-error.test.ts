import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { missingProgram } from '../servers/missing.ts'
import { freshFile, openHandle, openStore, readyCount } from './support.ts'

const script = fileURLToPath(new URL('./process.ts', import.meta.url))

describe('A disk that fails to sync', () => {
  it('makes the commit unknown and stops the store; what was acknowledged before is there', async (t) => {
    const reason = missingProgram('strace', ['-V'])
    if (reason !== undefined) return t.skip(reason)
    const traced = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true'])
    if (traced.status !== 0) return t.skip(`strace may not trace here: ${String(traced.stderr)}`)
    const file = freshFile()
    const inject = ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:error=EIO:when=25+']

    const run = spawnSync(
      'strace',
      [
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        ...inject,
        process.execPath,
        '--import',
        'jiti/register',
        script,
      ].concat(['insertUntilFailure', file]),
      { encoding: 'utf8' },
    )

    const outcomes = JSON.parse(run.stdout) as string[]
    const acknowledged = outcomes.filter((outcome) => outcome === 'ok').length
    expect(acknowledged).toBeGreaterThan(0)
    expect(outcomes.slice(-2)).toEqual(['STORE_UNKNOWN', 'STORE_UNAVAILABLE'])
    const ready = await readyCount(openStore({ file }))
    expect([acknowledged, acknowledged + 1]).toContain(ready)
    expect(openHandle(file).prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
  }, 60_000)
})

import { describe, expect, it } from 'vitest'
import { CONFIG, project, skep } from './cli.ts'

describe('skep tokens', () => {
  it('makes a token without any server, shows it once, lists it and revokes it', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })

    const made = await skep(
      [
        'tokens',
        'create',
        '--name',
        'shop',
        '--scopes',
        'enqueue,read',
        '--queues',
        'mail.*',
        '--expires',
        '90d',
      ],
      { cwd },
    )
    const again = await skep(['tokens', 'create', '--name', 'shop', '--scopes', 'read'], { cwd })
    const shown = await skep(['tokens'], { cwd })
    const listed = JSON.parse((await skep(['tokens', 'list', '--json'], { cwd })).stdout)
    const revoked = await skep(['tokens', 'revoke', 'shop', '--yes'], { cwd })
    const missing = await skep(['tokens', 'revoke', 'shop', '--yes'], { cwd })

    expect(made.stdout).toMatch(/^skep_[0-9a-f]{16}_[\w-]{43}\n$/)
    expect(made.stderr).toMatch(/cannot be shown again/)
    expect([again.code, again.stderr]).toEqual([expect.any(Number), expect.stringMatching(/already/)])
    expect(shown.stdout).toMatch(/^ID +NAME +SCOPES/)
    expect(shown.stdout).toMatch(/shop +enqueue,read +default +mail\.\*/)
    expect(listed.tokens).toMatchObject([
      { name: 'shop', scopes: ['enqueue', 'read'], queues: ['mail.*'], payloads: false },
    ])
    expect(JSON.stringify(listed)).not.toContain(made.stdout.trim().slice(22))
    expect([revoked.code, revoked.stdout]).toEqual([0, 'Revoked shop.\n'])
    expect(missing.code).toBe(3)
  })

  it('says what is missing or wrong', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })

    const nothing = await skep(['tokens', 'create'], { cwd })
    const scope = await skep(['tokens', 'create', '--name', 'x', '--scopes', 'root'], { cwd })

    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringMatching(/needs a name and scopes/)])
    expect([scope.code, scope.stderr]).toEqual([
      expect.any(Number),
      expect.stringMatching(/enqueue, work, read, operate, admin/),
    ])
  })
})

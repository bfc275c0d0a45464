import { createSkep, type RecordStore, StoreError, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { describe, expect, it, onTestFinished } from 'vitest'
import { expandScopes } from '../../../src/operations/authorize/authorize.ts'
import { SCOPES, type Scope } from '../../../src/operations/schema/wire-types.ts'
import { ServerCore } from '../../../src/server/core.ts'
import type { Receiver } from '../../../src/server/receivers/receiver.ts'
import { callerWith, desk, guarded } from './desk.ts'

function codeOf(run: () => void): string {
  try {
    run()
    return 'ok'
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}

describe('scopes', () => {
  it('include each other where people are meant, and stand alone where programs are', () => {
    const included = Object.fromEntries(SCOPES.map((scope) => [scope, [...expandScopes([scope])].sort()]))

    expect(included).toEqual({
      enqueue: ['enqueue'],
      work: ['work'],
      read: ['read'],
      operate: ['operate', 'read'],
      admin: ['admin', 'operate', 'read'],
    })
  })

  it('decide about every operation', () => {
    const { access } = desk()
    for (const has of SCOPES) {
      for (const needs of SCOPES) {
        const caller = callerWith([...expandScopes([has])])
        const isFine = expandScopes([has]).has(needs)
        expect(codeOf(() => access.authorize(caller, guarded({ scope: needs })))).toBe(
          isFine ? 'ok' : 'FORBIDDEN',
        )
      }
    }
  })
})

describe('queues', () => {
  it.each([
    [['*'], ['anything', '*', 'mail.*'], 'ok'],
    [['mail.*'], ['mail.send'], 'ok'],
    [['mail.*'], ['mail.send', 'report'], 'FORBIDDEN'],
    [['mail.*'], ['mail.*'], 'ok'],
    [['mail.*'], ['mail.in.*'], 'ok'],
    [['mail.*'], ['*'], 'FORBIDDEN'],
    [['mail.*'], ['m*'], 'FORBIDDEN'],
    [['mail.*'], ['*.send'], 'FORBIDDEN'],
    [['a', 'b'], ['a', 'b'], 'ok'],
    [['a', 'b'], ['ab'], 'FORBIDDEN'],
    [['mail.*'], [], 'ok'],
  ] as const)('%j may touch %j: %s', (queues, named, said) => {
    const { access } = desk()

    expect(
      codeOf(() => access.authorize(callerWith(['operate'], { queues }), guarded({ queues: named }))),
    ).toBe(said)
  })
})

describe('a read-only server', () => {
  it('lets everybody look, and nobody change anything', () => {
    const { access } = desk({ readOnly: true })
    const admin = callerWith(SCOPES as readonly Scope[])

    expect(codeOf(() => access.authorize(admin, guarded({ scope: 'read', isChange: false })))).toBe('ok')
    for (const scope of SCOPES) {
      expect(codeOf(() => access.authorize(admin, guarded({ scope })))).toBe('FORBIDDEN')
    }
    expect(codeOf(() => access.authorize(admin, guarded({ scope: 'work', isChange: false })))).toBe(
      'FORBIDDEN',
    )
  })
})

describe('rates', () => {
  it('bound what one caller asks, and tell it when to come again', async () => {
    const { access, runtime } = desk({ rates: { views: { perSecond: 2, burst: 3 } } })
    const look = (name: string): string =>
      codeOf(() =>
        access.authorize(callerWith(['read'], { name }), guarded({ scope: 'read', isChange: false })),
      )

    expect([look('a'), look('a'), look('a'), look('a'), look('b')]).toEqual([
      'ok',
      'ok',
      'ok',
      'TOO_MANY_REQUESTS',
      'ok',
    ])
    await runtime.advance(500)
    expect(look('a')).toBe('ok')
  })

  it('leave programs alone unless they are said', () => {
    const { access } = desk()
    const call = guarded({ scope: 'enqueue', name: 'jobs.enqueue' })

    for (let i = 0; i < 5_000; i++) access.authorize(callerWith(['enqueue']), call)

    const { access: strict } = desk({ rates: { programs: { perSecond: 1, burst: 1 } } })
    strict.authorize(callerWith(['enqueue']), call)
    expect(codeOf(() => strict.authorize(callerWith(['enqueue']), call))).toBe('TOO_MANY_REQUESTS')
  })
})

describe('the audit', () => {
  const note = {
    caller: callerWith(['operate', 'read']),
    what: 'jobs.change',
    scope: 'operate',
    queues: ['mail'],
    target: 'cancel: x',
    outcome: 'ok',
    detail: null,
  } as const

  it('tells who did what, to what, from where and how it ended, newest first', async () => {
    const { access, runtime } = desk()
    await access.audit(note)
    await runtime.advance(1_000)
    await access.audit({ ...note, outcome: 'refused', detail: 'FORBIDDEN: no' })

    const { entries, cursor } = await access.audited.list(callerWith(['admin']), {})

    expect(cursor).toBeNull()
    expect(entries).toMatchObject([
      { who: 'ada', what: 'jobs.change', outcome: 'refused', detail: 'FORBIDDEN: no' },
      {
        who: 'ada',
        what: 'jobs.change',
        target: 'cancel: x',
        outcome: 'ok',
        detail: null,
        address: '10.0.0.9',
      },
    ])
    expect(entries[0]?.at).toBe(new Date(runtime.now()).toISOString())
  })

  it('is kept for 90 days, or as long as is said', async () => {
    const usual = desk()
    const short = desk({ audit: { keep: '1d' } })
    for (const { access, runtime } of [usual, short]) {
      await access.audit(note)
      await runtime.advance(89 * 86_400_000)
    }

    expect((await usual.access.audited.list(callerWith(['admin']), {})).entries).toHaveLength(1)
    expect((await short.access.audited.list(callerWith(['admin']), {})).entries).toHaveLength(0)
    await usual.runtime.advance(86_400_000)
    expect((await usual.access.audited.list(callerWith(['admin']), {})).entries).toHaveLength(0)
  })

  it('has no secrets in it', async () => {
    const { access } = desk()

    await access.audit({ ...note, target: 'redis://:geheim@host', detail: 'password=geheim' })

    expect(JSON.stringify(await access.audited.list(callerWith(['admin']), {}))).not.toContain('geheim')
  })

  it('belongs to each space', async () => {
    const { access } = desk()
    await access.audit({ ...note, caller: callerWith(['operate'], { space: 'acme' }) })

    expect((await access.audited.list(callerWith(['admin']), {})).entries).toEqual([])
    expect((await access.audited.list(callerWith(['admin'], { space: 'acme' }), {})).entries).toHaveLength(1)
  })

  it('shows who sees only some queues only what concerns these, and what it did itself', async () => {
    const { access } = desk()
    await access.audit({ ...note, target: 'mine', caller: callerWith(['operate'], { name: 'bob' }) })
    await access.audit({ ...note, target: 'other', queues: ['report'] })
    await access.audit({ ...note, target: 'unknown', queues: [] })
    await access.audit({
      ...note,
      target: 'own',
      queues: [],
      caller: callerWith(['operate'], { name: 'eve' }),
    })

    const eve = callerWith(['admin'], { name: 'eve', queues: ['mail*'] })
    const { entries } = await access.audited.list(eve, {})

    expect(entries.map(({ target }) => target)).toEqual(['own', 'mine'])
  })

  it('can be read page by page, and by who and what', async () => {
    const { access } = desk()
    for (let i = 0; i < 450; i++) {
      await access.audit({
        ...note,
        target: `t${i}`,
        caller: callerWith(['operate'], { name: i % 150 === 0 ? 'eve' : 'ada' }),
      })
    }

    const read: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await access.audited.list(callerWith(['admin']), {
        limit: 100,
        ...(cursor === '' ? {} : { cursor }),
      })
      read.push(...page.entries.map(({ target }) => target))
      cursor = page.cursor
    }
    const eve = await access.audited.list(callerWith(['admin']), { who: 'eve' })
    const none = await access.audited.list(callerWith(['admin']), { what: 'holds.block' })

    expect(read).toEqual(Array.from({ length: 450 }, (_, i) => `t${449 - i}`))
    expect(eve.entries.map(({ target }) => target)).toEqual(['t300', 't150', 't0'])
    expect(none).toEqual({ entries: [], cursor: null })
    await expect(access.audited.list(callerWith(['admin']), { cursor: 'a\0' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
  })

  it('leaves out what programs do all day, and not what they try in vain', async () => {
    const { access } = desk()
    const enqueue = {
      ...note,
      what: 'jobs.enqueue',
      scope: 'enqueue',
      caller: callerWith(['enqueue']),
    } as const
    await access.audit(enqueue)
    await access.audit({ ...enqueue, outcome: 'refused' })
    await access.audit({ ...enqueue, caller: callerWith(['enqueue', 'operate', 'read'], { name: 'person' }) })

    const { entries } = await access.audited.list(callerWith(['admin']), {})

    expect(entries.map(({ who, outcome }) => `${who} ${outcome}`)).toEqual(['person ok', 'ada refused'])
  })

  it('is told to whoever wants to hear it, who can do no harm', async () => {
    const heard: string[] = []
    const { access } = desk({
      audit: {
        programs: true,
        onAudit: (entry) => {
          heard.push(`${entry.space} ${entry.who} ${entry.what}`)
          throw new Error('no')
        },
      },
    })

    await access.audit({ ...note, what: 'jobs.enqueue', scope: 'enqueue', caller: callerWith(['enqueue']) })

    expect(heard).toEqual(['default ada jobs.enqueue'])
  })

  it('that cannot be written keeps its line, and nothing more is changed until it is written', async () => {
    let isDown = false
    const records = (store: RecordStore): RecordStore => ({
      getRecords: (call) => store.getRecords(call),
      listRecords: (call) => store.listRecords(call),
      removeRecords: (call) => store.removeRecords(call),
      putRecords: async (call) => {
        if (isDown) throw new StoreError('STORE_UNAVAILABLE', 'It is away.')
        return store.putRecords(call)
      },
    })
    const { access, runtime } = desk({}, { records })
    const change = (): string => codeOf(() => access.authorize(callerWith(['operate']), guarded()))
    const look = (): string =>
      codeOf(() => access.authorize(callerWith(['read']), guarded({ scope: 'read', isChange: false })))

    isDown = true
    expect(change()).toBe('ok')
    await access.audit(note)
    expect([change(), look()]).toEqual(['STORE_UNAVAILABLE', 'ok'])
    isDown = false
    await runtime.advance(1_000)

    expect(change()).toBe('ok')
    expect((await access.audited.list(callerWith(['admin']), {})).entries).toHaveLength(1)
  })
})

describe('tokens through the server', () => {
  const wide = callerWith(['admin'], { spaces: '*' })
  const narrow = callerWith(['admin'], { name: 'eve', space: 'acme', queues: ['mail.*'], payloads: false })

  it('are given for the space and the queues of who gives them', async () => {
    const { access } = desk()

    const { view } = await access.tokens.create(narrow, { name: 'new', scopes: ['enqueue'] })

    expect(view).toMatchObject({ space: 'acme', queues: ['mail.*'], payloads: false, createdBy: 'eve' })
  })

  it.each([
    [{ space: 'other' }],
    [{ space: '*' }],
    [{ queues: ['*'] }],
    [{ queues: ['mail.send', 'report'] }],
    [{ payloads: true }],
  ])('never reach further than who gives them: %j', async (more) => {
    const { access } = desk()

    await expect(
      access.tokens.create(narrow, { name: 'new', scopes: ['read'], ...more }),
    ).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await access.tokens.list(wide)).toEqual([])
  })

  it('can be given for every space by who has every space', async () => {
    const { access } = desk()

    const { view } = await access.tokens.create(wide, {
      name: 'new',
      scopes: ['admin'],
      space: '*',
      expires: '1d',
    })

    expect(view).toMatchObject({ space: '*', payloads: true })
    expect(view.expiresAt).not.toBeNull()
  })

  it('that reach further are neither seen nor revoked', async () => {
    const { access } = desk()
    const { view } = await access.tokens.create(wide, { name: 'big', scopes: ['read'], space: 'acme' })
    const { view: small } = await access.tokens.create(narrow, { name: 'small', scopes: ['read'] })

    expect((await access.tokens.list(narrow)).map(({ name }) => name)).toEqual(['small'])
    expect(await access.tokens.revoke(narrow, view.id)).toBe(false)
    expect(await access.tokens.revoke(narrow, small.id)).toBe(true)
    expect((await access.tokens.list(wide)).map(({ name }) => name)).toEqual(['big'])
  })
})

describe('quotas', () => {
  it('refuse one receiver too many of a space, and not of others', async () => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })
    const server = new ServerCore(skep, { logger: silentLogger, quotas: { acme: { receivers: 2 } } })
    onTestFinished(async () => {
      await server.close()
      await skep.close()
    })
    const connect = (space: string): Promise<Receiver> =>
      server.hub.connect({
        caller: callerWith(['work'], { space }),
        queues: ['mail'],
        credits: 1,
        protocol: 'grpc',
        send: () => true,
        stop: () => {},
        end: () => {},
      })
    const [first] = await Promise.all([connect('acme'), connect('acme')])

    await expect(connect('acme')).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      facts: { quota: 'receivers', limit: 2 },
    })
    await connect('other')
    first.close('done')
    await connect('acme')
  })

  it('bound receivers', () => {
    const { access } = desk({ quotas: { '*': { receivers: 2 } } })

    expect(codeOf(() => access.quotas.assertReceiver('any', 1))).toBe('ok')
    expect(codeOf(() => access.quotas.assertReceiver('any', 2))).toBe('QUOTA_EXCEEDED')
  })
})

describe('headers', () => {
  it('are strict, and say nothing about the server', () => {
    const { access } = desk({ hsts: '365d' })
    const headersOf = (path: string, isEncrypted: boolean): Readonly<Record<string, string>> =>
      access.headers(new Request(`http://localhost${path}`), { address: null, isEncrypted })

    expect(headersOf('/api/v1/me', true)).toEqual({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'permissions-policy': expect.stringContaining('camera=()'),
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
    })
    expect(headersOf('/assets/app.js', false)).not.toHaveProperty('cache-control')
    expect(headersOf('/assets/app.js', false)).not.toHaveProperty('strict-transport-security')
  })
})

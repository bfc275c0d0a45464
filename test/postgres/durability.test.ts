import { describe, expect, it } from 'vitest'
import { postgresStore } from '../../src/postgres.ts'
import { checkDurability } from '../../src/stores/postgres/durability.ts'
import { createWorld } from './world.ts'

describe('the durability of a PostgreSQL server', () => {
  it('is the disk with its usual settings', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true })

    const durability = await store.ready()

    expect(durability).toMatchObject({ level: 'disk', warnings: [] })
    expect(durability.detail).toContain('fsync on, synchronous_commit on')
  })

  it('is too little when commits are acknowledged before they are written', async () => {
    const { url, sql, open } = await createWorld()
    await open({ migrate: true })
    await sql(
      `do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`,
    )
    const strict = postgresStore({ url })

    await expect(strict.ready()).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringContaining('asyncCommit'),
    })
    await strict.close()

    const lenient = await open({ unsafe: { asyncCommit: true } })
    expect(await lenient.ready()).toMatchObject({ level: 'process' })
  })

  // The tests share one server, whose fsync stays on; so its settings are told by a function.
  it('is too little when nothing reaches the disk for sure (a double of the settings)', async () => {
    const settings =
      (fsync: string, pages: string, standby = '') =>
      async () => [['150018', '15.18', fsync, 'on', pages, 'f', standby]]

    await expect(checkDurability(settings('off', 'on'), {})).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
    expect(await checkDurability(settings('off', 'on'), { noFsync: true })).toMatchObject({
      level: 'process',
    })
    expect((await checkDurability(settings('on', 'off'), {})).warnings[0]).toContain('full_page_writes')
    expect((await checkDurability(settings('on', 'on', 'second'), {})).detail).toContain(
      'synchronous standby has',
    )
    const old = async () => [['120022', '12.22', 'on', 'on', 'on', 'f', '']]
    await expect(checkDurability(old, {})).rejects.toThrow('13 or newer')
  })
})

import { describe, expect, it } from 'vitest'
import {
  CUT_MARK,
  isKept,
  lineBytes,
  lineOf,
  notesUntil,
  noteText,
  takeNote,
} from '../../src/core/jobs/job-log.ts'
import { LIMITS } from '../../src/core/limits.ts'

describe('a line', () => {
  it('is taken as it was said', () => {
    expect(lineOf('sent', { to: 'ada' })).toEqual({ text: 'sent', fields: '{"to":"ada"}' })
    expect(lineOf('sent', undefined)).toEqual({ text: 'sent', fields: null })
    expect(lineOf('', null)).toEqual({ text: '', fields: null })
  })

  it('shows errors among its fields', () => {
    expect(lineOf('oh', { error: new TypeError('no') }).fields).toBe(
      '{"error":{"name":"TypeError","message":"no"}}',
    )
  })

  it('is made of anything, and of nothing that cannot be stored', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    const trap = {
      toJSON() {
        throw new Error('no')
      },
    }
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()

    expect(lineOf(42, 7)).toEqual({ text: '42', fields: '{"value":7}' })
    expect(lineOf(undefined, undefined).text).toBe('undefined')
    expect(lineOf(new Error('boom'), undefined).text).toBe('boom')
    expect(lineOf('a\0b\ud800c', undefined).text).toBe('ab\ufffdc')
    for (const fields of [cyclic, trap, { big: 1n }, revoked.proxy, () => {}]) {
      expect(lineOf('x', fields).text).toMatch(/^x/)
    }
    expect(lineOf('x', cyclic)).toEqual({ text: 'x (fields that are not JSON were left out)', fields: null })
  })

  it('is cut to its bound with a mark, letters whole', () => {
    const { text } = lineOf('漢'.repeat(3_000), undefined)

    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.noteLineBytes)
    expect(Buffer.byteLength(text)).toBeGreaterThan(LIMITS.noteLineBytes - 4)
    expect(text).toMatch(/^漢+ … \(cut\)$/u)
    expect(noteText('x'.repeat(512), 512)).toBe('x'.repeat(512))
    expect(noteText('x'.repeat(513), 512).endsWith(CUT_MARK)).toBe(true)
  })

  it('leaves out fields that do not fit, and says so', () => {
    const line = lineOf('y'.repeat(4_000), { long: 'z'.repeat(200) })

    expect(line.fields).toBeNull()
    expect(line.text).toContain('(fields of 211 bytes were left out)')
    expect(lineBytes(line)).toBeLessThanOrEqual(LIMITS.noteLineBytes)
  })
})

describe('the bounds of a job', () => {
  const head = { token: 't', lineN: 0, progressN: 0, progress: null, dropped: 0, until: 0 }
  const line = { at: 0, level: 'info', text: '', fields: null } as const

  it('keep the newest lines', () => {
    const { noteLines, notesBytes } = LIMITS
    expect(isKept({ ...line, place: 1, start: 0 }, { ...head, last: noteLines, bytes: notesBytes })).toBe(
      true,
    )
    expect(isKept({ ...line, place: 1, start: 0 }, { ...head, last: noteLines + 1, bytes: 0 })).toBe(false)
    expect(isKept({ ...line, place: 1, start: 0 }, { ...head, last: 2, bytes: notesBytes + 1 })).toBe(false)
  })

  it('end between seven days and an hour more', () => {
    for (const now of [0, 1, 3_599_999, 3_600_000, 1_800_000_000_123]) {
      expect(notesUntil(now) - now).toBeGreaterThan(LIMITS.notesKeptMs)
      expect(notesUntil(now) - now).toBeLessThanOrEqual(LIMITS.notesKeptMs + 3_600_000)
    }
  })
})

describe('taking notes', () => {
  it('skips what came before, and counts what never came', () => {
    const line = (n: number) => ({ n, at: n, level: 'info', text: 'ab', fields: null }) as const
    const first = takeNote(undefined, 't', { progress: null, lines: [line(1), line(2)] }, 0)
    const again = takeNote(first.head, 't', { progress: null, lines: [line(1), line(2), line(5)] }, 0)

    expect(again.lines.map(({ place, start, at }) => [place, start, at])).toEqual([[3, 4, 5]])
    expect(again.head).toMatchObject({ last: 3, bytes: 6, dropped: 2, lineN: 5 })
  })
})

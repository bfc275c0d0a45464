import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/testing/random.ts'
import { PowerFiles, ROOT } from './power-files.ts'

const bytes = (text: string): Buffer => Buffer.from(text)

/** A disk with a file `a` that holds "old" for certain. */
function diskWithFile(): { files: PowerFiles; ino: number } {
  const files = new PowerFiles()
  const { ino } = files.create(ROOT, 'a', 'file')
  files.write(ino, 0, bytes('old'))
  files.sync(ino)
  files.sync(ROOT)
  return { files, ino }
}

const textOf = (files: PowerFiles): Record<string, string> =>
  Object.fromEntries([...files.rootFiles()].map(({ name, bytes: content }) => [name, String(content)]))

describe('A disk that loses its power', () => {
  it('shows what was written at once, and forgets it unless it was synced', () => {
    const { files, ino } = diskWithFile()
    files.write(ino, 0, bytes('newer'))
    expect(textOf(files)).toEqual({ a: 'newer' })

    files.cut('forget', Math.random)

    expect(textOf(files)).toEqual({ a: 'old' })
  })

  it('keeps what was synced, and its size', () => {
    const { files, ino } = diskWithFile()
    files.write(ino, 0, bytes('newer'))
    files.truncate(ino, 4)
    files.sync(ino)

    files.cut('forget', Math.random)

    expect(textOf(files)).toEqual({ a: 'newe' })
  })

  it('forgets names until their folder is synced, whatever was synced inside', () => {
    const { files } = diskWithFile()
    const made = files.create(ROOT, 'b', 'file')
    files.write(made.ino, 0, bytes('b'))
    files.sync(made.ino)
    files.remove(ROOT, 'a', 'file')

    files.cut('forget', Math.random)

    expect(textOf(files)).toEqual({ a: 'old' })
  })

  it('keeps names whose folder was synced, and renames as a whole', () => {
    const { files } = diskWithFile()
    files.rename(ROOT, 'a', ROOT, 'b')
    files.sync(ROOT)

    files.cut('forget', Math.random)

    expect(textOf(files)).toEqual({ b: 'old' })
  })

  it('tears writes at sectors, and each sector is the old one or the new one', () => {
    const sectors = 8
    const seen = new Set<string>()
    for (let seed = 1; seed <= 200; seed++) {
      const files = new PowerFiles()
      const { ino } = files.create(ROOT, 'a', 'file')
      files.write(ino, 0, Buffer.alloc(sectors * 512, 'o'))
      files.sync(ino)
      files.sync(ROOT)
      files.write(ino, 0, Buffer.alloc(sectors * 512, 'n'))

      files.cut('mix', seededRandom(seed).next)

      const text = textOf(files)['a'] as string
      for (let at = 0; at < text.length; at += 512) expect(new Set(text.slice(at, at + 512)).size).toBe(1)
      seen.add(text.includes('o') ? (text.includes('n') ? 'torn' : 'forgotten') : 'kept')
    }

    expect([...seen].toSorted()).toEqual(['forgotten', 'kept', 'torn'])
  })

  it('never writes what a failed sync should have saved, although the next sync succeeds', () => {
    const { files, ino } = diskWithFile()
    files.write(ino, 0, bytes('new'))
    files.failSync(ino)
    expect(textOf(files)).toEqual({ a: 'new' })
    files.sync(ino)

    files.cut('keep', Math.random)

    expect(textOf(files)).toEqual({ a: 'old' })
  })
})

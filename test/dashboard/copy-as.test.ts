import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { ExactNumber } from '../../dashboard/src/api/exact.ts'
import { type CopyTarget, copyAs } from '../../dashboard/src/screens/playground/copy-as.ts'
import {
  jsonLine,
  pythonValue,
  shellWord,
  tsText,
  tsValue,
} from '../../dashboard/src/screens/playground/quote.ts'
import type { EnqueueInput } from '../../src/operations/schema/wire-types.ts'

/** Texts that end quotes, start commands, hide or turn what stands around them. */
const NASTY = [
  "it's",
  '"quoted"',
  "'; rm -rf / #",
  '$(whoami) `id` $' + '{HOME} $HOME',
  'back\\slash \\n \\u0041 \\x41',
  'two\nlines\r\tand a tab',
  '!history! %PATH% ^caret &amp; | ; < > * ? [a] {b,c} ~',
  'nul-free \u0001\u001b[31mred\u007f',
  'turned \u202e txt.exe \u2066hidden\u2069 zero\u200bwidth',
  'line \u2028 and \u2029 paragraph',
  'tag \u{e0041} and emoji 👩‍💻 and é',
  '</script><img src=x onerror=alert(1)>',
  '-starts-with-a-dash',
  '@file',
  '',
]

const payload = {
  texts: NASTY,
  __proto__x: 1,
  'key\'s "quotes"': true,
  nested: { none: null, no: false, list: [1, -2.5, 1e21], empty: {}, nothing: [] },
}

const input: EnqueueInput = {
  queue: 'mail.send',
  payload,
  delay: '5m',
  priority: -5,
  lane: "o'brien & sons",
  unique: '$(id)',
  headers: { 'x-note': NASTY.join(' ').replaceAll(/\p{Cc}/gu, '') },
}

const where: CopyTarget = { server: 'http://127.0.0.1:7537/admin/', withToken: true, space: "o'space" }

/** The arguments that a real shell makes of a text. */
function argumentsOf(command: string): string[] {
  const program = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))'
  const text = command.replace(/^(curl|npx)\b/, `"${process.execPath}" -e '${program}' -- `)
  const said = execFileSync('bash', ['-c', text], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', SKEP_TOKEN: 'secret', LC_ALL: 'C.UTF-8' },
  })
  return JSON.parse(said) as string[]
}

/** What a real Node makes of an expression. */
function evaluated(expression: string): unknown {
  const program = `process.stdout.write(JSON.stringify(${expression}))`
  return JSON.parse(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' })) as unknown
}

describe('words of a shell', () => {
  it('come out of a real shell as they went in', () => {
    expect(argumentsOf(`curl ${NASTY.map(shellWord).join(' ')}`)).toEqual(NASTY)
  })

  it('stay without quotes only where no shell looks at them', () => {
    expect(shellWord('mail.send')).toBe('mail.send')
    expect(shellWord('-x')).toBe("'-x'")
    expect(shellWord('a b')).toBe("'a b'")
  })
})

describe('source in other languages', () => {
  it('is the same value in TypeScript', () => {
    expect(evaluated(tsValue(payload))).toEqual(payload)
  })

  it('never sets a prototype in TypeScript', () => {
    const value = JSON.parse('{"__proto__":{"polluted":true}}') as object
    const seen = `((made) => [Object.hasOwn(made, '__proto__'), made.polluted ?? null])(${tsValue(value)})`
    expect(evaluated(seen)).toEqual([true, null])
  })

  it('is the same value in Python', () => {
    const program = `import json,sys\nvalue = ${pythonValue(payload)}\nsys.stdout.write(json.dumps(value))`
    const said = execFileSync('python3', ['-c', program], { encoding: 'utf8' })
    expect(JSON.parse(said)).toEqual(payload)
  })

  it('keeps numbers that a double cannot hold', () => {
    const big = { id: new ExactNumber('9007199254740993') }
    expect(jsonLine(big)).toBe('{"id":9007199254740993}')
    expect(pythonValue(big)).toBe('{"id": 9007199254740993}')
    expect(tsValue(big)).toBe('{ id: 9007199254740993 }')
  })

  it('has no character that cannot be seen', () => {
    const hidden = /[\p{Cf}\p{Zl}\p{Zp}]/u
    for (const source of [jsonLine(payload), tsValue(payload), pythonValue(payload), ...NASTY.map(tsText)]) {
      expect(hidden.test(source)).toBe(false)
    }
  })
})

describe('copy as', () => {
  it('makes a curl that sends exactly this job', () => {
    const said = argumentsOf(copyAs('curl', input, where))
    const body = said[said.indexOf('--data-raw') + 1] as string

    expect(JSON.parse(body)).toEqual(input)
    expect(said).toContain('http://127.0.0.1:7537/admin/api/v1/call/jobs.enqueue')
    expect(said).toContain('authorization: Bearer secret')
    expect(said).toContain("skep-space: o'space")
  })

  it('never writes a token out', () => {
    for (const kind of ['curl', 'Python'] as const) expect(copyAs(kind, input, where)).toContain('SKEP_TOKEN')
    expect(copyAs('curl', input, { ...where, withToken: false })).not.toContain('authorization')
  })

  it('makes a command whose flags say what was chosen', () => {
    const said = argumentsOf(copyAs('CLI', input, where))
    expect(said.slice(0, 3)).toEqual(['skep', 'enqueue', 'mail.send'])
    expect(JSON.parse((said[3] as string).slice('--data='.length))).toEqual(payload)
    expect(said).toContain('--priority=-5')
    expect(said).toContain("--lane=o'brien & sons")
    expect(said).toContain('--unique=$(id)')
  })

  it('makes a program in Python that a Python reads', () => {
    const source = copyAs('Python', input, where)
    const check = 'import ast,sys; ast.parse(sys.stdin.read())'
    expect(() => execFileSync('python3', ['-c', check], { input: source })).not.toThrow()
  })

  it('makes TypeScript whose payload and options are those of the form', () => {
    const source = copyAs('TypeScript', { ...input, runAt: '2026-11-16T09:30:00.000Z' }, where)
    const call = /skep\.enqueue\(target, ([\s\S]*)\)\nconsole/.exec(source)?.[1] as string
    const [given, options] = evaluated(`[${call}]`) as [unknown, Record<string, unknown>]
    expect(given).toEqual(payload)
    expect(options).toEqual({
      delay: '5m',
      priority: -5,
      lane: input.lane,
      unique: input.unique,
      headers: input.headers,
      runAt: '2026-11-16T09:30:00.000Z',
    })
  })
})

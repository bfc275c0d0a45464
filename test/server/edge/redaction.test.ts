import { describe, expect, it } from 'vitest'
import { HIDDEN, redactor } from '../../../src/operations/redaction/redact.ts'
import { HARMLESS } from './corpus/harmless.ts'
import { SECRETS } from './corpus/secrets.ts'

const usual = redactor()

describe('what nobody may see', () => {
  it('is a corpus that is worth its name', () => {
    expect(SECRETS.length).toBeGreaterThanOrEqual(100)
    expect(HARMLESS.length).toBeGreaterThanOrEqual(300)
  })

  it.each(SECRETS.map((one) => [one.name, one] as const))('%s', (_name, { value, secrets, kept = [] }) => {
    // As it is stored, in a field of a payload, and as a text that quotes it.
    const shown = [usual.value(value), usual.value({ note: { value } })]
    if (typeof value === 'string') shown.push(usual.text(value))
    else shown.push(usual.text(JSON.stringify(value)))

    for (const one of shown) {
      const text = JSON.stringify(one)
      for (const secret of secrets) expect(text).not.toContain(secret)
      for (const word of kept) expect(text.replaceAll('\\', '')).toContain(word.replaceAll('\\', ''))
      expect(text).toContain(HIDDEN)
    }
  })

  it('is hidden wherever it stands in a text', () => {
    const missed: string[] = []
    for (const { name, value, secrets } of SECRETS) {
      if (typeof value !== 'string' || value.length > 10_000) continue
      for (const text of [
        `${value}\n`,
        `> ${value}`,
        `${HARMLESS[0]}\n${value}`,
        `(${value})`,
        `msg: ${value}`,
      ]) {
        const shown = usual.text(text)
        if (secrets.some((secret) => shown.includes(secret))) missed.push(`${name}: ${shown}`)
      }
    }
    expect(missed).toEqual([])
  })
})

it('harmless texts stay as they are: at most 2 in 100 are touched', () => {
  const touched = HARMLESS.filter((line) => usual.text(line) !== line)

  expect(touched.length / HARMLESS.length, touched.join('\n')).toBeLessThanOrEqual(0.02)
})

it('harmless values stay the very same', () => {
  const values = [
    { tokens: 812, prompt_tokens: 12, usage: { tokens: { input: 1, output: 2 } } },
    { pass: 12, fail: 1, hasPassword: true, password: null, token: '' },
    { author: 'Ada', authorized: true, signatureAlgorithm: 'ed25519', tokenCount: 'many', passenger: 'Bob' },
    { headers: [{ name: 'accept', value: 'text/html' }], key: 'name', value: 'Ada' },
  ]

  for (const value of values) expect(usual.value(value)).toBe(value)
})

import { expect, it } from 'vitest'
import { onlyQueueIn, quoted, statesIn, termAt, termsOf, withState } from './query-text.ts'

it('splits a query into terms and keeps quoted strings together', () => {
  expect(termsOf('state:dead  error:"card declined" -lane:"a \\"b\\"" word')).toEqual([
    'state:dead',
    'error:"card declined"',
    '-lane:"a \\"b\\""',
    'word',
  ])
})

it('changes only the state', () => {
  const query = 'queue:mail state:dead,failed error:"a state:b"'
  expect(statesIn(query)).toEqual(['dead', 'failed'])
  expect(withState(query, 'done')).toBe('state:done queue:mail error:"a state:b"')
  expect(withState(query, null)).toBe('queue:mail error:"a state:b"')
})

it('detects queries that the counts of queues answer', () => {
  expect(onlyQueueIn('state:dead')).toEqual({ queue: null })
  expect(onlyQueueIn('queue:mail state:dead')).toEqual({ queue: 'mail' })
  expect(onlyQueueIn('queue:mail.*')).toBeNull()
  expect(onlyQueueIn('queue:mail since:1h')).toBeNull()
})

it('finds the term at the caret', () => {
  expect(termAt('state:dead qu', 13)).toEqual({ from: 11, text: 'qu' })
  expect(termAt('state:dead ', 11)).toEqual({ from: 11, text: '' })
  expect(termAt('state:de queue:x', 8)).toEqual({ from: 0, text: 'state:de' })
})

it('quotes values with special characters', () => {
  expect(quoted('mail.welcome')).toBe('mail.welcome')
  expect(quoted('two words')).toBe('"two words"')
  expect(quoted('-minus')).toBe('"-minus"')
})

import { describe, expect, it } from 'vitest'
import { cronWords, intervalWords } from '../../src/server/operations/cron-words.ts'

describe('a cron in words', () => {
  it.each([
    ['* * * * *', 'every minute'],
    ['*/5 * * * *', 'every 5 minutes'],
    ['0 * * * *', 'every hour at :00'],
    ['15,45 * * * *', 'every hour at :15 and :45'],
    ['0 */2 * * *', 'every 2 hours at :00'],
    ['30 9 * * *', 'every day at 09:30'],
    ['0 9,17 * * *', 'every day at 09:00 and 17:00'],
    ['30 9 * * 1-5', 'every weekday at 09:30'],
    ['30 9 * * MON-FRI', 'every weekday at 09:30'],
    ['0 10 * * 0,6', 'every Saturday and Sunday at 10:00'],
    ['30 2 * * 0', 'every Sunday at 02:30'],
    ['30 2 * * 7', 'every Sunday at 02:30'],
    ['0 8 * * 1,3', 'every Monday and Wednesday at 08:00'],
    ['0 4 1 * *', 'on the 1st of every month at 04:00'],
    ['0 4 1,15 * *', 'on the 1st and 15th of every month at 04:00'],
    ['0 4 L * *', 'on the last day of every month at 04:00'],
    ['0 12 24 12 *', 'on the 24th of December at 12:00'],
    ['0 0 13 * 5', 'on the 13th of every month, or every Friday at 00:00'],
    ['0 9 * * 1#2', 'every 2nd Monday of the month at 09:00'],
    ['0 9-17 * * 1-5', 'every hour from 09 to 17 at :00, every weekday'],
    ['*/10 9-17 * * *', 'every 10 minutes from 09 to 17'],
    ['*/15 * * * * *', 'every 15 seconds'],
    ['0 30 9 * * *', 'every day at 09:30'],
    ['0 6 * 6-8 *', 'every day in June to August at 06:00'],
    ['@daily', 'every day at 00:00'],
    ['@weekly', 'every Sunday at 00:00'],
    ['@yearly', 'on the 1st of January at 00:00'],
  ])('%s is "%s"', (expression, words) => {
    expect(cronWords(expression)).toBe(words)
  })

  it('says nothing rather than something wrong', () => {
    for (const odd of [
      '5 3-7/2 * * *',
      '0 0 15W * *',
      '1-59/2 3 * * *',
      '30 15 9 * * *',
      'nonsense',
      '',
      '99 99 * * *',
    ])
      expect(cronWords(odd)).toBeNull()
  })
})

it('says intervals in the largest unit that fits', () => {
  expect(intervalWords(900_000)).toBe('15 minutes')
  expect(intervalWords(3_600_000)).toBe('hour')
  expect(intervalWords(90_000)).toBe('90 seconds')
  expect(intervalWords(1_500)).toBe('1500 ms')
})

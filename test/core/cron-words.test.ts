import { describe, expect, it } from 'vitest'
import { cronWords, everyWords } from '../../src/core/schedules/describe-cron.ts'

const said = (expression: string): string => cronWords(expression, 'UTC').replace(/, UTC$/, '')

describe('a cron expression in words', () => {
  it.each([
    ['* * * * *', 'every minute'],
    ['*/5 * * * *', 'every 5 minutes'],
    ['0/15 * * * *', 'every 15 minutes'],
    ['0 * * * *', 'every hour'],
    ['@hourly', 'every hour'],
    ['15 * * * *', 'every hour at minute 15'],
    ['0,30 * * * *', 'every hour at minutes 0 and 30'],
    ['0 */6 * * *', 'every 6 hours'],
    ['30 */2 * * *', 'every 2 hours at minute 30'],
    ['* * * * * *', 'every second'],
    ['*/10 * * * * *', 'every 10 seconds'],
    ['30 9 * * *', 'every day at 09:30'],
    ['@daily', 'every day at 00:00'],
    ['@midnight', 'every day at 00:00'],
    ['15 30 9 * * *', 'every day at 09:30:15'],
    ['0 9,17 * * *', 'every day at 09:00 and 17:00'],
    ['0,30 9 * * *', 'every day at 09:00 and 09:30'],
    ['0 9 * * 1', 'every Monday at 09:00'],
    ['0 9 * * MON', 'every Monday at 09:00'],
    ['@weekly', 'every Sunday at 00:00'],
    ['0 9 * * 7', 'every Sunday at 09:00'],
    ['0 8 * * 1-5', 'on weekdays at 08:00'],
    ['0 8 * * MON-FRI', 'on weekdays at 08:00'],
    ['0 8 * * 6,0', 'on weekends at 08:00'],
    ['0 8 * * 1,3,5', 'on Monday, Wednesday and Friday at 08:00'],
    ['0 8 * * 0,1', 'on Monday and Sunday at 08:00'],
    ['0 8 * * 1-4', 'from Monday to Thursday at 08:00'],
    ['0 8 * * 5#2', 'on the second Friday of every month at 08:00'],
    ['0 8 * * 5L', 'on the last Friday of every month at 08:00'],
    ['@monthly', 'on the 1st of every month at 00:00'],
    ['0 0 1,15 * *', 'on the 1st and 15th of every month at 00:00'],
    ['0 0 22 * *', 'on the 22nd of every month at 00:00'],
    ['0 0 13 * *', 'on the 13th of every month at 00:00'],
    ['0 0 L * *', 'on the last day of every month at 00:00'],
    ['0 0 LW * *', 'on the last weekday of every month at 00:00'],
    ['0 0 15W * *', 'on the weekday nearest the 15th of every month at 00:00'],
    ['0 0 1-7 * *', 'from the 1st to the 7th of every month at 00:00'],
    ['@yearly', 'on the 1st of January at 00:00'],
    ['0 0 1 1,7 *', 'on the 1st of January and July at 00:00'],
    ['0 6 * JUN-AUG *', 'every day from June to August at 06:00'],
    ['0 6 * 12 *', 'every day in December at 06:00'],
    ['0 6 * 12 1', 'every Monday in December at 06:00'],
    ['0 0 13 * 5', 'on the 13th of every month or every Friday at 00:00'],
    ['*/15 9-17 * * 1-5', 'every 15 minutes from 09:00 to 17:59 on weekdays'],
    ['0 9-17 * * *', 'every hour from 09:00 to 17:00'],
    ['*/10 8 * * *', 'every 10 minutes from 08:00 to 08:59'],
    ['*/30 6,18 * * *', 'every 30 minutes in the hours of 06:00 and 18:00'],
    ['*/5 * * * 6', 'every 5 minutes every Saturday'],
  ])('%s: %s', (expression, text) => {
    expect(said(expression)).toBe(text)
  })

  it.each([
    '*/7 * * * *',
    '0 */5 * * *',
    '1-9/3,20 1-5 */2 * *',
    '0 0 */2 * *',
    '5-10 * * * * *',
    'what is this',
    '0 0 0 0',
    '0 25 * * *',
  ])('stays as it is where there are no good words: %s', (expression) => {
    expect(said(expression)).toBe(expression)
  })

  it('names the zone', () => {
    expect(cronWords('30 9 * * *', 'Europe/Berlin')).toBe('every day at 09:30, Europe/Berlin')
  })
})

it.each([
  [1_000, 'every second'],
  [300_000, 'every 5 minutes'],
  [5_400_000, 'every 90 minutes'],
  [3_600_000, 'every hour'],
  [86_400_000, 'every day'],
  [1_209_600_000, 'every 2 weeks'],
  [1_500, 'every 1500 ms'],
])('an interval of %i ms: %s', (ms, text) => {
  expect(everyWords(ms)).toBe(text)
})

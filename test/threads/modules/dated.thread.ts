import { threadHandler } from 'skep'
import { dated } from './queues.ts'

export default threadHandler(dated, ({ payload }) => payload.day.getFullYear())

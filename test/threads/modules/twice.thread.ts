import { threadHandler } from 'skep'
import { work } from './queues.ts'

threadHandler(work, () => 1)
threadHandler(work, () => 2)

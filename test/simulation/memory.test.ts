import { describeTrials } from './trials.ts'

describeTrials('memory', 10_000, 1_650, 'all')

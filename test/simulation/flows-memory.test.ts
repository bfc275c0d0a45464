import { describeTrials } from './trials.ts'

// About 17 runs in each trial, with their branches three times as many.
describeTrials('memory', 30_000, 140, 'all', 'flows')

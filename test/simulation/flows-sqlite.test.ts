import { describeTrials } from './trials.ts'

describeTrials('sqlite', 40_000, 35, 'own', 'flows')

import { describeTrials } from './trials.ts'

describeTrials('sqlite', 40_000, 25, 'own', 'flows')

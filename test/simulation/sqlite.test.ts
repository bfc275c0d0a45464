import { describeTrials } from './trials.ts'

describeTrials('sqlite', 20_000, 350, 'own')

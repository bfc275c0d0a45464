import { describeChaos } from './chaos-suite.ts'

describeChaos('postgres')

import { describeChaos } from './chaos-suite.ts'

describeChaos('redis')

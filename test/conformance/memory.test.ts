import { describe, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import { describeStore } from '../../src/testing.ts'
import { describeOracle } from './describe-oracle.ts'

describeStore('memory', () => memoryStore(), { describe, it })

describeOracle('memory', () => memoryStore(), { compare: false, seeds: 100 })

import { describe, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import { describeStore } from '../../src/testing.ts'

describeStore('memory', () => memoryStore(), { describe, it })

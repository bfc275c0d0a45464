import type { Random } from '../../../../src/testing.ts'
import type { EachPart, FlowShape, Part, StepPart, Work } from '../../../proof/flows/shape.ts'
import { FLAT, PARTS, STEPS } from './queues.ts'

/** Draws flows. Names are counted through, because the steps of a flow need names of their own. */
export class Draw {
  readonly #random: Random
  #names = 0

  constructor(random: Random) {
    this.#random = random
  }

  flow(name: string, version: number): FlowShape {
    // Many have something to undo, and something that fails after it.
    const undoable = this.#random.chance(0.4) ? [this.#step(true), this.#step(true)] : []
    return { name, version, parts: [...undoable, ...this.#parts(2, this.#random.int(1, 4))] }
  }

  #parts(depth: number, count: number): Part[] {
    return Array.from({ length: count }, () => this.#part(depth))
  }

  #part(depth: number): Part {
    const { int, pick, chance } = this.#random
    const simple = ['step', 'step', 'undoable', 'each', 'each', 'sleep', 'signal'] as const
    const nested = ['parallel', 'when', 'repeat', 'inner'] as const
    const kind = pick<(typeof simple | typeof nested)[number]>(depth > 0 ? [...simple, ...nested] : simple)
    const inside = (): Part[] => this.#parts(depth - 1, int(1, 2))
    switch (kind) {
      case 'step':
      case 'undoable':
        return this.#step(kind === 'undoable')
      case 'inner': {
        const flow = { name: this.#name('inner'), version: 1, parts: inside() }
        const as = chance(0.7) ? this.#name('r') : null
        return {
          kind: 'step',
          name: this.#name('step'),
          work: { flow },
          as,
          isSmall: chance(0.3),
          undo: false,
        }
      }
      case 'each':
        return this.#each(depth)
      case 'parallel': {
        const branch = (): Work | { parts: Part[] } =>
          chance(0.4) ? { queue: pick(STEPS) } : { parts: inside() }
        const branches = Array.from({ length: int(1, 3) }, () => ({ name: this.#name('b'), work: branch() }))
        return { kind: 'parallel', branches, join: pick(['all', 'all', 'failFast']) }
      }
      case 'when':
        return { kind: 'when', divisor: int(1, 3), yes: inside(), no: chance(0.5) ? inside() : null }
      case 'repeat':
        return { kind: 'repeat', most: int(1, 3), divisor: int(2, 5), body: inside() }
      case 'sleep':
        return { kind: 'sleep', ms: pick([1, 100, 1_000]) }
      case 'signal':
        return { kind: 'signal', name: this.#name('signal'), timeoutMs: pick([null, 1, 500, 3_000]) }
    }
  }

  #step(undo: boolean): StepPart {
    const { pick, chance } = this.#random
    const queue = pick(undo ? PARTS : STEPS)
    const as = chance(0.5) ? this.#name('r') : null
    return { kind: 'step', name: this.#name('step'), work: { queue }, as, isSmall: chance(0.3), undo }
  }

  #each(depth: number): EachPart {
    const { int, pick, chance } = this.#random
    const join = pick(['all', 'all', 'settled', 'first', 'failFast'] as const)
    const items = join === 'first' ? int(1, 5) : int(0, 4)
    const isFlow = depth > 0 && items < 3 && chance(0.2)
    const work: Work = isFlow
      ? { flow: { name: this.#name('inner'), version: 1, parts: this.#parts(depth - 1, 1) } }
      : { queue: pick([...STEPS, ...FLAT]) }
    return { kind: 'each', name: this.#name('each'), work, items, join, need: int(1, Math.max(1, items)) }
  }

  #name(of: string): string {
    return `${of}${++this.#names}`
  }
}

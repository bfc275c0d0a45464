import type { FlowOutline } from '../../store/flows.ts'

/** How flows look, by space, name and version. */
export class Outlines {
  readonly #spaces = new Map<string, Map<string, FlowOutline>>()

  /** Returns those that looked different, as they were. */
  put(space: string, flows: readonly FlowOutline[]): FlowOutline[] {
    const known = this.#spaces.get(space) ?? new Map<string, FlowOutline>()
    this.#spaces.set(space, known)
    return flows.flatMap((flow) => {
      const key = JSON.stringify([flow.name, flow.version])
      const was = known.get(key)
      known.set(key, flow)
      return was === undefined || was.outline === flow.outline ? [] : [was]
    })
  }

  get(space: string, name: string | undefined): FlowOutline[] {
    return [...(this.#spaces.get(space)?.values() ?? [])]
      .filter((flow) => name === undefined || flow.name === name)
      .sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name) || a.version - b.version)
  }
}

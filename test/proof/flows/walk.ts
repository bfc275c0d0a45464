import type { FlowShape, Part } from './shape.ts'

/** The sequences inside a part that belong to the same run. */
export function insideOf(part: Part): readonly (readonly Part[])[] {
  if (part.kind === 'when') return [part.yes, part.no ?? []]
  return part.kind === 'repeat' ? [part.body] : []
}

function* walk(parts: readonly Part[]): Generator<Part> {
  for (const part of parts) {
    yield part
    for (const inside of insideOf(part)) yield* walk(inside)
  }
}

/** What people call a part; null for those that have no name of their own. */
export function nameOf(part: Part): string | null {
  return part.kind === 'step' || part.kind === 'each' || part.kind === 'signal' ? part.name : null
}

export function namesIn(parts: readonly Part[]): string[] {
  return [...walk(parts)].flatMap((part) => nameOf(part) ?? [])
}

export function signalsIn(parts: readonly Part[]): string[] {
  return [...walk(parts)].flatMap((part) => (part.kind === 'signal' ? [part.name] : []))
}

/** A shape and all that are inside it, by the names that runs know them by. */
export function shapesIn(shapes: readonly FlowShape[]): ReadonlyMap<string, FlowShape> {
  const found = new Map<string, FlowShape>()
  const add = (shape: FlowShape): void => {
    found.set(`${shape.name} ${shape.version}`, shape)
    for (const part of walk(shape.parts)) {
      if ((part.kind === 'step' || part.kind === 'each') && 'flow' in part.work) add(part.work.flow)
      if (part.kind !== 'parallel') continue
      for (const { name, work } of part.branches) {
        if ('parts' in work) add({ ...shape, name: `${shape.name}:${name}`, parts: work.parts })
        else if ('flow' in work) add(work.flow)
      }
    }
  }
  for (const shape of shapes) add(shape)
  return found
}

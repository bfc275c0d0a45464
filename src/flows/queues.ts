/**
 * The jobs that move runs on have a queue of their own for each flow and version: so whoever takes one has the steps with
 * which the run began.
 */
const QUEUE = /^flow(?:\.\d+)?:(.+)$/

export function flowQueue(name: string, version: number): string {
  return version === 1 ? `flow:${name}` : `flow.${version}:${name}`
}

/** The name of the flow to which the runs belong that jobs of this queue move on, with those of its branches; else null. */
export function flowOfQueue(queue: string): string | null {
  return QUEUE.exec(queue)?.[1] ?? null
}

import { JOB_STATES, type JobState } from '../../index.ts'
import { usage } from '../exit.ts'
import type { Style } from '../output.ts'
import { suggest } from '../suggest.ts'
import { quote } from './text.ts'

/** One colour for each state, everywhere. */
export const STATE_STYLES: Readonly<Record<JobState, Style>> = {
  delayed: 'blue',
  ready: 'yellow',
  running: 'cyan',
  done: 'green',
  failed: 'magenta',
  dead: 'red',
  cancelled: 'dim',
}

/** The states of `--state dead,failed`. */
export function readStates(names: readonly string[] | undefined): readonly JobState[] | undefined {
  return names?.map((name) => {
    const state = JOB_STATES.find((one) => one === name)
    if (state !== undefined) return state
    const near = suggest(name, JOB_STATES)
    throw usage(
      `${quote(name)} is not a state.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
      `Use: ${JOB_STATES.join(', ')}`,
    )
  })
}

import { useQueries } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call } from '../../api/client.ts'
import { useApi } from '../../api/query.ts'
import { capitalized } from '../../format/capitalized.ts'
import { Count } from '../../ui/count.tsx'
import { type JobState, STATES, StateShape } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { onlyQueueIn, statesIn, withState } from './query-text.ts'

/** One tab per state, with the number of matching jobs. */
export function StateTabs({
  query,
  onAsk,
}: {
  readonly query: string
  readonly onAsk: (query: string) => void
}): ReactNode {
  const states = statesIn(query)
  const counts = useStateCounts(query)
  const value = states.length === 0 ? 'all' : states.length === 1 ? (states[0] as string) : 'several'
  return (
    <Tabs
      label="State"
      value={value}
      onChange={(id) => onAsk(withState(query, id === 'all' ? null : (id as JobState)))}
      tabs={[
        { id: 'all', label: 'All' },
        ...STATES.map((state) => {
          const count = counts(state)
          return {
            id: state as string,
            label: (
              <>
                <span className={`state-ink-${state}`}>
                  <StateShape state={state} />
                </span>
                {capitalized(state)}
                {count && count.count > 0 && (
                  <span className="tab-count">
                    <Count value={count.count} isExact={count.isExact} brief />
                  </span>
                )}
              </>
            ),
          }
        }),
      ]}
    />
  )
}

type Counted = { readonly count: number; readonly isExact: boolean } | undefined

/** Uses the counters of the queues where possible; other queries are counted by the server. */
function useStateCounts(query: string): (state: JobState) => Counted {
  const simple = onlyQueueIn(query)
  const queues = useApi('queues.list', {}, { enabled: simple !== null }).data?.queues
  const counted = useQueries({
    queries: STATES.map((state) => ({
      queryKey: ['jobs.count', { query: withState(query, state) }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('jobs.count', { query: withState(query, state) }, { signal }),
      enabled: simple === null,
      retry: false,
    })),
  })
  return (state) => {
    if (simple === null) return counted[STATES.indexOf(state)]?.data
    if (!queues) return undefined
    const own = queues.filter(({ queue }) => simple.queue === null || queue === simple.queue)
    return { count: own.reduce((sum, { counts }) => sum + counts[state], 0), isExact: true }
  }
}

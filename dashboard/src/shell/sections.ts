import type { Scope } from '../../../src/operations/schema/wire-types.ts'
import type { IconName } from '../ui/icon.tsx'

export interface Section {
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Words with which it is found in the palette. */
  readonly words?: string
  /** Keys that lead to it, one after the other. */
  readonly keys?: string
  /** Shown only to callers with this scope. */
  readonly scope?: Scope
}

/** The places of the dashboard, as the sidebar shows them. */
export const SECTIONS: readonly { readonly title: string | null; readonly sections: readonly Section[] }[] = [
  {
    title: null,
    sections: [
      {
        path: '/',
        title: 'Overview',
        icon: 'overview',
        keys: 'g o',
        words: 'home throughput latency attention',
      },
      { path: '/queues', title: 'Queues', icon: 'queues', keys: 'g q', words: 'pause lanes limits holds' },
      { path: '/jobs', title: 'Jobs', icon: 'jobs', keys: 'g j', words: 'search list query' },
      { path: '/errors', title: 'Errors', icon: 'errors', keys: 'g e', words: 'groups exceptions failures' },
      { path: '/dead', title: 'Dead letters', icon: 'dead', keys: 'g d', words: 'retry dlq' },
    ],
  },
  {
    title: 'Plans',
    sections: [
      { path: '/schedules', title: 'Schedules', icon: 'schedules', keys: 'g s', words: 'cron' },
      { path: '/flows', title: 'Flows', icon: 'flows', keys: 'g f', words: 'runs workflows graph' },
    ],
  },
  {
    title: 'Machines',
    sections: [
      { path: '/workers', title: 'Workers', icon: 'workers', keys: 'g w', words: 'hosts processes' },
      { path: '/receivers', title: 'Receivers', icon: 'receivers', keys: 'g r', words: 'streams grpc http' },
      { path: '/system', title: 'System', icon: 'system', keys: 'g y', words: 'doctor health store' },
    ],
  },
  {
    title: 'Tools',
    sections: [
      {
        path: '/playground',
        title: 'Playground',
        icon: 'playground',
        keys: 'g p',
        words: 'enqueue send try',
        scope: 'operate',
      },
      { path: '/bulk', title: 'Bulk actions', icon: 'bulk', keys: 'g b', words: 'mass retry cancel' },
      { path: '/audit', title: 'Audit', icon: 'audit', keys: 'g a', words: 'log who', scope: 'admin' },
      {
        path: '/tokens',
        title: 'Tokens',
        icon: 'tokens',
        keys: 'g t',
        words: 'access credentials',
        scope: 'admin',
      },
    ],
  },
]

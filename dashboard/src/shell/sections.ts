import type { Scope } from '../../../src/operations/schema/wire-types.ts'
import type { IconName } from '../ui/icon.tsx'

export interface Section {
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Search terms for the palette. */
  readonly keywords?: string
  /** Its keyboard shortcut: keys pressed one after the other. */
  readonly keys?: string
  /** Shown only to callers with this scope. */
  readonly scope?: Scope
}

/** The sections of the sidebar. */
export const SECTIONS: readonly { readonly title: string | null; readonly sections: readonly Section[] }[] = [
  {
    title: null,
    sections: [
      {
        path: '/',
        title: 'Overview',
        icon: 'overview',
        keys: 'g o',
        keywords: 'home throughput latency attention',
      },
      { path: '/queues', title: 'Queues', icon: 'queues', keys: 'g q', keywords: 'pause lanes limits holds' },
      { path: '/jobs', title: 'Jobs', icon: 'jobs', keys: 'g j', keywords: 'search list query' },
      {
        path: '/errors',
        title: 'Errors',
        icon: 'errors',
        keys: 'g e',
        keywords: 'groups exceptions failures',
      },
      { path: '/dead', title: 'Dead letters', icon: 'dead', keys: 'g d', keywords: 'retry dlq' },
    ],
  },
  {
    title: 'Automation',
    sections: [
      { path: '/schedules', title: 'Schedules', icon: 'schedules', keys: 'g s', keywords: 'cron' },
      { path: '/flows', title: 'Flows', icon: 'flows', keys: 'g f', keywords: 'runs workflows graph' },
    ],
  },
  {
    title: 'Infrastructure',
    sections: [
      { path: '/workers', title: 'Workers', icon: 'workers', keys: 'g w', keywords: 'hosts processes' },
      {
        path: '/receivers',
        title: 'Receivers',
        icon: 'receivers',
        keys: 'g r',
        keywords: 'streams grpc http',
      },
      { path: '/system', title: 'System', icon: 'system', keys: 'g y', keywords: 'doctor health store' },
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
        keywords: 'enqueue send try',
        scope: 'operate',
      },
      { path: '/bulk', title: 'Bulk actions', icon: 'bulk', keys: 'g b', keywords: 'mass retry cancel' },
      { path: '/audit', title: 'Audit', icon: 'audit', keys: 'g a', keywords: 'log who', scope: 'admin' },
      {
        path: '/tokens',
        title: 'Tokens',
        icon: 'tokens',
        keys: 'g t',
        keywords: 'access credentials',
        scope: 'admin',
      },
    ],
  },
]

import type { ComponentType } from 'react'
import { PLAN_ROUTES } from './plan-routes.tsx'
import { WORK_ROUTES } from './work-routes.tsx'

export interface ScreenRoute {
  /** As wouter reads it: `/queues/:queue`. */
  readonly path: string
  readonly screen: ComponentType
}

/** Every address of the dashboard. The first that fits is shown. */
export const ROUTES: readonly ScreenRoute[] = [...WORK_ROUTES, ...PLAN_ROUTES]

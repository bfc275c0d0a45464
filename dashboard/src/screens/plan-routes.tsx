import type { ScreenRoute } from './routes.tsx'

/** Errors, dead letters, schedules, flows, machines and tools. */
export const PLAN_ROUTES: readonly ScreenRoute[] = []

import type { ComponentType } from 'react'
import { OverviewScreen } from './overview/overview.tsx'

/** Every address of the dashboard. The first that fits is shown. */
export const ROUTES: readonly { readonly path: string; readonly screen: ComponentType }[] = [
  { path: '/', screen: OverviewScreen },
]

import { QueryClientProvider } from '@tanstack/react-query'
import { Component, type ErrorInfo, type ReactNode, Suspense } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import { basePath } from './api/base.ts'
import { ApiFailure } from './api/client.ts'
import { queries, useApi } from './api/query.ts'
import { ROUTES } from './screens/routes.tsx'
import { Layout } from './shell/layout.tsx'
import { Page } from './shell/page.tsx'
import { SignIn } from './shell/sign-in.tsx'
import { Mark } from './ui/icon.tsx'
import { EmptyState, ErrorState, Skeleton } from './ui/states-of-page.tsx'

export function App(): ReactNode {
  return (
    <QueryClientProvider client={queries}>
      <Router base={basePath.replace(/\/$/, '')}>
        <Gate />
      </Router>
    </QueryClientProvider>
  )
}

/** Nothing is shown before it is known who asks. */
function Gate(): ReactNode {
  const me = useApi('me.get', {}, { keeps: false })
  if (me.error instanceof ApiFailure && me.error.status === 401) return <SignIn />
  if (me.data) {
    return (
      <Layout me={me.data}>
        <Screens />
      </Layout>
    )
  }
  return (
    <main className="sign-in">
      {me.error ? <ErrorState error={me.error} onRetry={() => void me.refetch()} /> : <Mark size={44} />}
    </main>
  )
}

function Screens(): ReactNode {
  const [location] = useLocation()
  return (
    <Fence key={location}>
      <Suspense fallback={<Waiting />}>
        <Switch>
          {ROUTES.map(({ path, screen }) => (
            <Route key={path} path={path} component={screen} />
          ))}
          <Route>
            <Page title="Not found" name="Not found">
              <EmptyState title="There is no such page" icon="search">
                Use the sidebar or press Ctrl K.
              </EmptyState>
            </Page>
          </Route>
        </Switch>
      </Suspense>
    </Fence>
  )
}

function Waiting(): ReactNode {
  return (
    <main className="page">
      <Skeleton lines={8} />
    </main>
  )
}

/** A screen that breaks leaves the others alone. */
class Fence extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state: { readonly error: Error | null } = { error: null }

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(error, info.componentStack)
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children
    return (
      <main className="page">
        {/* What broke may be a file that a newer server no longer has: only a new page knows its new name. */}
        <ErrorState error={this.state.error} onRetry={() => location.reload()} />
      </main>
    )
  }
}

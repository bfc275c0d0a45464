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
import { Logo } from './ui/icon.tsx'
import { EmptyState, ErrorState, Skeleton } from './ui/page-states.tsx'

export function App(): ReactNode {
  return (
    <QueryClientProvider client={queries}>
      <Router base={basePath.replace(/\/$/, '')}>
        <Gate />
      </Router>
    </QueryClientProvider>
  )
}

/** Shows nothing until the caller is known. */
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
      {me.error ? <ErrorState error={me.error} onRetry={() => void me.refetch()} /> : <Logo size={44} />}
    </main>
  )
}

function Screens(): ReactNode {
  const [location] = useLocation()
  return (
    <ErrorBoundary key={location}>
      <Suspense fallback={<PageSkeleton />}>
        <Switch>
          {ROUTES.map(({ path, screen }) => (
            <Route key={path} path={path} component={screen} />
          ))}
          <Route>
            <Page title="Not found" name="Not found">
              <EmptyState title="Page not found" icon="search">
                Use the sidebar or press Ctrl K.
              </EmptyState>
            </Page>
          </Route>
        </Switch>
      </Suspense>
    </ErrorBoundary>
  )
}

function PageSkeleton(): ReactNode {
  return (
    <main className="page">
      <Skeleton lines={8} />
    </main>
  )
}

/** Keeps an error in one screen from breaking the others. */
class ErrorBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
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
        {/* After a deploy a lazy chunk may no longer exist. Only a reload learns the new file names. */}
        <ErrorState error={this.state.error} onRetry={() => location.reload()} />
      </main>
    )
  }
}

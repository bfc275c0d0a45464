import type { ReactNode } from 'react'
import { useParams } from 'wouter'
import { Page } from '../../shell/page.tsx'
import { JobPanel } from './job-panel.tsx'

/** The page of one job. */
export function JobScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  return (
    <Page name={`Job ${id}`} above={{ to: '/jobs', text: 'Jobs' }}>
      <JobPanel key={id} id={id} />
    </Page>
  )
}

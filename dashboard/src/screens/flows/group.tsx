import type { ReactNode } from 'react'
import { useParams } from 'wouter'
import { useApi } from '../../api/query.ts'
import { fullCountText } from '../../format/numbers.ts'
import { Page } from '../../shell/page.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { Id } from '../../ui/code.tsx'
import { Loaded } from '../../ui/page-states.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Badge } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { Notice } from '../shared/notice.tsx'

/** A group of jobs: its progress and what it waits for. */
export function GroupScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  const request = useApi('groups.get', { id }, { every: 5_000 })
  const explanation = useApi('jobs.explain', { id }, { every: 5_000 })
  return (
    <Loaded request={request}>
      {(group) => (
        <Page
          title={
            <span className="row">
              Group {group.isOpen && <Badge tone="info">open</Badge>}{' '}
              {group.endedAt !== null && <Badge>completed</Badge>}
            </span>
          }
          name="Group"
          above={{ to: '/flows', text: 'Flows' }}
        >
          {explanation.data && (
            <Notice>
              <Sentence text={explanation.data.summary} />
            </Notice>
          )}
          <Card title="Members">
            <div className="stack">
              <Progress
                label="Completed members"
                value={group.size === 0 ? null : (group.done + group.failed) / group.size}
                note={`${fullCountText(group.done)} of ${fullCountText(group.size)} done${group.failed > 0 ? `, ${fullCountText(group.failed)} failed` : ''}`}
              />
              <Facts
                facts={[
                  ['Members', fullCountText(group.size)],
                  ['Done', fullCountText(group.done)],
                  ['Failed', fullCountText(group.failed)],
                  ['Completed', group.endedAt === null ? '–' : <TimeAgo key="ended" at={group.endedAt} />],
                  ['Group', <Id key="id" text={group.id} />],
                ]}
              />
            </div>
          </Card>
        </Page>
      )}
    </Loaded>
  )
}

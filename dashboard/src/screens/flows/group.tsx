import type { ReactNode } from 'react'
import { useParams } from 'wouter'
import { useApi } from '../../api/query.ts'
import { wholeText } from '../../format/numbers.ts'
import { Page } from '../../shell/page.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { Id } from '../../ui/code.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Badge } from '../../ui/state.tsx'
import { Loaded } from '../../ui/states-of-page.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { Notice } from '../shared/notice.tsx'

/** Jobs that belong together: how many have ended, and what it waits for. */
export function GroupScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  const asked = useApi('groups.get', { id }, { every: 5_000 })
  const explanation = useApi('jobs.explain', { id }, { every: 5_000 })
  return (
    <Loaded asked={asked}>
      {(group) => (
        <Page
          title={
            <span className="row">
              Group {group.isOpen && <Badge tone="info">open</Badge>}{' '}
              {group.endedAt !== null && <Badge>ended</Badge>}
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
                label="Members that have ended"
                value={group.size === 0 ? null : (group.done + group.failed) / group.size}
                note={`${wholeText(group.done)} of ${wholeText(group.size)} done${group.failed > 0 ? `, ${wholeText(group.failed)} failed` : ''}`}
              />
              <Facts
                facts={[
                  ['Members', wholeText(group.size)],
                  ['Done', wholeText(group.done)],
                  ['Failed', wholeText(group.failed)],
                  ['Ended', group.endedAt === null ? 'not yet' : <TimeAgo key="ended" at={group.endedAt} />],
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

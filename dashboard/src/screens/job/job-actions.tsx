import { type ReactNode, useState } from 'react'
import type { BulkAction, JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { Button } from '../../ui/button.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'
import { ActionDialog } from '../jobs/action-dialog.tsx'
import { actionsFor } from '../jobs/actions.ts'
import { CopyDialog } from './copy-job.tsx'

/** What can be done to this job now. */
export function JobActions({ job }: { readonly job: JobDetail['job'] }): ReactNode {
  const mayOperate = useCan('operate')
  const [acting, setActing] = useState<BulkAction | null>(null)
  const [isAgain, setAgain] = useState(false)
  if (!mayOperate) return null
  const [first, ...rest] = actionsFor([job.state])
  const items: MenuItem[] = [
    { label: 'Edit and run again …', icon: 'edit', onSelect: () => setAgain(true) },
    ...(rest.length > 0 ? ['line' as const] : []),
    ...rest.map(
      ({ action, label, icon, danger }): MenuItem => ({
        label: `${label} …`,
        icon,
        ...(danger ? { danger } : {}),
        onSelect: () => setActing(action),
      }),
    ),
  ]
  return (
    <div className="row">
      {first && (
        <Button icon={first.icon} onClick={() => setActing(first.action)}>
          {first.label}
        </Button>
      )}
      <Menu label="More actions" icon="more" items={items} />
      {acting && <ActionDialog action={acting} chosen={{ ids: [job.id] }} onClose={() => setActing(null)} />}
      {isAgain && <CopyDialog job={job} onClose={() => setAgain(false)} />}
    </div>
  )
}

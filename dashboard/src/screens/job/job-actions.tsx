import { type ReactNode, useState } from 'react'
import type { BulkAction, JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { Button } from '../../ui/button.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'
import { ActionDialog } from '../jobs/action-dialog.tsx'
import { actionsFor } from '../jobs/actions.ts'
import { CopyDialog } from './copy-job.tsx'

/** Actions for a job in its current state. */
export function JobActions({ job }: { readonly job: JobDetail['job'] }): ReactNode {
  const mayOperate = useCan('operate')
  const [acting, setActing] = useState<BulkAction | null>(null)
  const [isCopying, setCopying] = useState(false)
  if (!mayOperate) return null
  const [first, ...rest] = actionsFor([job.state])
  const items: MenuItem[] = [
    { label: 'Edit and copy …', icon: 'edit', onSelect: () => setCopying(true) },
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
      {isCopying && <CopyDialog job={job} onClose={() => setCopying(false)} />}
    </div>
  )
}

import type { ReactNode } from 'react'
import type { BulkAction } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { countText, plural } from '../../format/numbers.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import type { ActionLabels } from './actions.ts'

const SHOWN = 3

/** Actions on the selected jobs, and a button to select all matching jobs instead of the loaded ones. */
export function SelectionBar({
  count,
  query,
  isAll,
  canTakeAll,
  actions,
  onAll,
  onClear,
  onAct,
}: {
  readonly count: number
  readonly query: string
  readonly isAll: boolean
  readonly canTakeAll: boolean
  readonly actions: readonly ActionLabels[]
  readonly onAll: () => void
  readonly onClear: () => void
  readonly onAct: (action: BulkAction) => void
}): ReactNode {
  const counted = useApi('jobs.count', { query }, { enabled: isAll || canTakeAll })
  const all = counted.data ? ` ${countText(counted.data.count, counted.data.isExact)}` : ''
  return (
    <div className="selection" role="toolbar" aria-label="Selected jobs">
      <strong className="num">{isAll ? `All${all} matching` : `${plural(count, 'job')} selected`}</strong>
      {!isAll && canTakeAll && (
        <button type="button" className="text-button" onClick={onAll}>
          Select all{all} matching
        </button>
      )}
      <span className="grow" />
      {actions.slice(0, SHOWN).map(({ action, label, icon }) => (
        <Button key={action} small icon={icon} onClick={() => onAct(action)}>
          {label}
        </Button>
      ))}
      {actions.length > SHOWN && (
        <Menu
          label="More actions"
          icon="more"
          small
          items={actions.slice(SHOWN).map(({ action, label, icon, danger }) => ({
            label,
            icon,
            ...(danger ? { danger } : {}),
            onSelect: () => onAct(action),
          }))}
        />
      )}
      <IconButton label="Clear selection" icon="close" small onClick={onClear} />
    </div>
  )
}

import { type ReactNode, useState } from 'react'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm, Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'

/** Saved searches, shared by all users of the space. */
export function ViewsMenu({
  query,
  onAsk,
}: {
  readonly query: string
  readonly onAsk: (query: string) => void
}): ReactNode {
  const views = useApi('views.list', {}).data?.views ?? []
  const mayOperate = useCan('operate')
  const [isSaving, setSaving] = useState(false)
  const [removing, setRemoving] = useState<{ readonly id: string; readonly name: string } | null>(null)
  const remove = useAct('views.remove', { success: 'View removed', onDone: () => setRemoving(null) })
  const current = views.find((view) => view.query === query)
  const items: MenuItem[] = [
    ...views.map(
      (view): MenuItem => ({
        label: view.name,
        checked: view === current,
        hint: `${view.query} · by ${view.by}`,
        onSelect: () => onAsk(view.query),
      }),
    ),
    ...(mayOperate
      ? [
          ...(views.length > 0 ? ['line' as const] : []),
          {
            label: 'Save search …',
            icon: 'plus' as const,
            disabled: query === '',
            onSelect: () => setSaving(true),
          },
          ...(current
            ? [
                {
                  label: `Remove “${current.name}” …`,
                  icon: 'trash' as const,
                  danger: true,
                  onSelect: () => setRemoving(current),
                },
              ]
            : []),
        ]
      : views.length === 0
        ? [{ label: 'No saved views', disabled: true, onSelect: () => undefined }]
        : []),
  ]
  return (
    <>
      <Menu label="Saved views" icon="bookmark" items={items}>
        {current?.name ?? 'Views'}
      </Menu>
      {isSaving && <SaveView query={query} onClose={() => setSaving(false)} />}
      {removing && (
        <Confirm
          title={`Remove view ${removing.name}`}
          action="Remove"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate({ id: removing.id })}
          onClose={() => setRemoving(null)}
        >
          <p>Removes the view for all users. Jobs are not affected.</p>
        </Confirm>
      )}
    </>
  )
}

function SaveView({ query, onClose }: { readonly query: string; readonly onClose: () => void }): ReactNode {
  const [name, setName] = useState('')
  const save = useAct('views.put', { success: 'View saved', onDone: onClose, quiet: true })
  return (
    <Dialog
      title="Save search"
      size="s"
      onClose={onClose}
      onSubmit={() => name.trim() !== '' && save.mutate({ name: name.trim(), query })}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" busy={save.isPending} disabled={name.trim() === ''}>
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <code className="wrap-anywhere soft">{query}</code>
        <Field
          label="Name"
          hint="Visible to all users of this space."
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={save.error?.message}
          autoFocus
        />
      </div>
    </Dialog>
  )
}

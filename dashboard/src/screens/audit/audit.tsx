import { type ReactNode, useState } from 'react'
import type { AuditEntry } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { usePages } from '../../api/pages.ts'
import { clockText, exactText } from '../../format/times.ts'
import { useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Facts } from '../../ui/card.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Badge } from '../../ui/state.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { operationLabel } from './operation-labels.ts'

const OUTCOMES = { ok: ['good', 'done'], refused: ['warn', 'refused'], failed: ['bad', 'failed'] } as const

function Outcome({ outcome }: Pick<AuditEntry, 'outcome'>): ReactNode {
  const [tone, label] = OUTCOMES[outcome]
  return <Badge tone={tone}>{label}</Badge>
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    id: 'at',
    title: 'Time',
    width: '9.5rem',
    cell: ({ at }) => (
      <time className="num" dateTime={at} title={exactText(at)}>
        {clockText(at)}
      </time>
    ),
  },
  { id: 'who', title: 'Actor', width: 'minmax(6rem, 1fr)', cell: ({ who }) => <strong>{who}</strong> },
  {
    id: 'what',
    title: 'Action',
    width: 'minmax(9rem, 1.5fr)',
    cell: ({ what }) => <span title={what}>{operationLabel(what)}</span>,
  },
  {
    id: 'target',
    title: 'Target',
    width: 'minmax(8rem, 2fr)',
    wideOnly: true,
    cell: ({ target }) => (
      <span className="soft" title={target}>
        {target}
      </span>
    ),
  },
  {
    id: 'outcome',
    title: 'Outcome',
    width: '6rem',
    wideOnly: true,
    cell: ({ outcome }) => <Outcome outcome={outcome} />,
  },
  {
    id: 'address',
    title: 'Address',
    width: '8rem',
    wideOnly: true,
    cell: ({ address }) => <span className="faint num">{address ?? '–'}</span>,
  },
]

/** The audit log: who changed what, and when. */
export function AuditScreen(): ReactNode {
  const [who, setWho] = useUrlParam<string>('who', '')
  const [what, setWhat] = useUrlParam<string>('what', '')
  const [opened, setOpened] = useState<AuditEntry | null>(null)
  const isAdmin = useCan('admin')
  const entries = usePages(
    'audit.list',
    {
      limit: 100,
      ...(who.trim() === '' ? {} : { who: who.trim() }),
      ...(what.trim() === '' ? {} : { what: what.trim() }),
    },
    (output) => output.entries,
    { enabled: isAdmin },
  )
  if (!isAdmin) {
    return (
      <Page title="Audit" name="Audit">
        <EmptyState title="Admins only" icon="audit">
          Reading the audit requires the scope <code>admin</code>.
        </EmptyState>
      </Page>
    )
  }
  return (
    <Page title="Audit" name="Audit" full>
      <div className="row wraps run-filters">
        <Field
          label="Actor"
          bare
          type="search"
          placeholder="Filter by actor"
          value={who}
          data-search
          onChange={(event) => setWho(event.target.value)}
        />
        <Field
          label="Operation"
          bare
          type="search"
          placeholder="Filter by operation"
          value={what}
          onChange={(event) => setWhat(event.target.value)}
        />
      </div>
      <Loaded request={entries}>
        {(items) =>
          items.length === 0 ? (
            who !== '' || what !== '' ? (
              <EmptyState title="No matching entries" icon="filter" />
            ) : (
              <EmptyState title="No entries yet" icon="audit">
                Every change made through this server is recorded here, with the actor, the operation, the
                address and the outcome.
              </EmptyState>
            )
          ) : (
            <Table
              label="Audit"
              rows={items}
              columns={COLUMNS}
              keyOf={({ id }) => id}
              onOpen={setOpened}
              footer={entries.hasMore && <Pager hasMore busy={entries.isBusy} onMore={entries.more} />}
            />
          )
        }
      </Loaded>
      {opened && <EntryDialog entry={opened} onClose={() => setOpened(null)} />}
    </Page>
  )
}

function EntryDialog({
  entry,
  onClose,
}: {
  readonly entry: AuditEntry
  readonly onClose: () => void
}): ReactNode {
  return (
    <Dialog title={`${entry.who} ${operationLabel(entry.what)}`} onClose={onClose}>
      <Facts
        facts={[
          ['Time', exactText(entry.at)],
          ['Actor', entry.who],
          ['Operation', <code key="what">{entry.what}</code>],
          ['Outcome', <Outcome key="outcome" outcome={entry.outcome} />],
          ['Target', entry.target],
          ['Address', entry.address ?? '–'],
          entry.detail !== null && ['Details', entry.detail],
        ]}
      />
    </Dialog>
  )
}

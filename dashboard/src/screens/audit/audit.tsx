import { type ReactNode, useState } from 'react'
import type { AuditEntry } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { usePages } from '../../api/pages.ts'
import { clockText, exactText } from '../../format/times.ts'
import { useWord } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Facts } from '../../ui/card.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Badge } from '../../ui/state.tsx'
import { EmptyState, Loaded } from '../../ui/states-of-page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { wordsFor } from './operation-words.ts'

const OUTCOMES = { ok: ['good', 'done'], refused: ['warn', 'refused'], failed: ['bad', 'failed'] } as const

function Outcome({ outcome }: Pick<AuditEntry, 'outcome'>): ReactNode {
  const [tone, word] = OUTCOMES[outcome]
  return <Badge tone={tone}>{word}</Badge>
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    id: 'at',
    title: 'When',
    width: '9.5rem',
    cell: ({ at }) => (
      <time className="num" dateTime={at} title={exactText(at)}>
        {clockText(at)}
      </time>
    ),
  },
  { id: 'who', title: 'Who', width: 'minmax(6rem, 1fr)', cell: ({ who }) => <strong>{who}</strong> },
  {
    id: 'what',
    title: 'Did what',
    width: 'minmax(9rem, 1.5fr)',
    cell: ({ what }) => <span title={what}>{wordsFor(what)}</span>,
  },
  {
    id: 'target',
    title: 'To what',
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
    title: 'From',
    width: '8rem',
    wideOnly: true,
    cell: ({ address }) => <span className="faint num">{address ?? '–'}</span>,
  },
]

/** Who changed what, and when. */
export function AuditScreen(): ReactNode {
  const [who, setWho] = useWord<string>('who', '')
  const [what, setWhat] = useWord<string>('what', '')
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
        <EmptyState title="Only for admins" icon="audit">
          Who did what is shown to those with the scope admin.
        </EmptyState>
      </Page>
    )
  }
  return (
    <Page title="Audit" name="Audit" full>
      <div className="row wraps run-filters">
        <Field
          label="Who"
          bare
          type="search"
          placeholder="Who"
          value={who}
          data-search
          onChange={(event) => setWho(event.target.value)}
        />
        <Field
          label="What"
          bare
          type="search"
          placeholder="What, such as jobs.change"
          value={what}
          onChange={(event) => setWhat(event.target.value)}
        />
      </div>
      <Loaded asked={entries}>
        {(items) =>
          items.length === 0 ? (
            who !== '' || what !== '' ? (
              <EmptyState title="Nothing fits" icon="filter" />
            ) : (
              <EmptyState title="Nothing was changed yet" icon="audit">
                Whatever anybody changes through this server is written down here: who, what, from where, and
                whether it was done, refused or failed.
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
    <Dialog title={`${entry.who} ${wordsFor(entry.what)}`} onClose={onClose}>
      <Facts
        facts={[
          ['When', exactText(entry.at)],
          ['Who', entry.who],
          ['Operation', <code key="what">{entry.what}</code>],
          ['Outcome', <Outcome key="outcome" outcome={entry.outcome} />],
          ['To what', entry.target],
          ['From', entry.address ?? 'not told'],
          entry.detail !== null && ['More', entry.detail],
        ]}
      />
    </Dialog>
  )
}

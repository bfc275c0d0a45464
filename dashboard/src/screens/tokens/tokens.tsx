import { type ReactNode, useState } from 'react'
import type { TokenView } from '../../../../src/operations/schema/wire-types.ts'
import { signIn } from '../../api/credential.ts'
import { useCan, useMe } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { Page } from '../../shell/page.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Confirm, Dialog } from '../../ui/dialog.tsx'
import { Badge } from '../../ui/state.tsx'
import { EmptyState, Loaded } from '../../ui/states-of-page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo, useNow } from '../../ui/time.tsx'
import { Notice } from '../shared/notice.tsx'
import { NewToken } from './new-token.tsx'

/** Who may use this server: tokens for people and programs. */
export function TokensScreen(): ReactNode {
  const isAdmin = useCan('admin')
  // Nobody has to log in yet. With the first token that is over.
  const isOpen = useMe()?.name === 'local'
  const asked = useApi('tokens.list', {}, { enabled: isAdmin })
  const [isNew, setNew] = useState(false)
  const [made, setMade] = useState<{ readonly token: string; readonly name: string } | null>(null)
  const [revoking, setRevoking] = useState<TokenView | null>(null)
  const revoke = useAct('tokens.revoke', {
    told: 'Revoked. Nobody gets in with it any more.',
    onDone: () => setRevoking(null),
  })
  if (!isAdmin) {
    return (
      <Page title="Tokens" name="Tokens">
        <EmptyState title="Only for admins" icon="tokens">
          Tokens are given by those with the scope admin.
        </EmptyState>
      </Page>
    )
  }
  const create = (
    <Button look="main" icon="plus" onClick={() => setNew(true)}>
      New token
    </Button>
  )
  return (
    <Page title="Tokens" name="Tokens" actions={create}>
      <Loaded asked={asked}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <EmptyState title="No tokens" icon="tokens">
              A token lets a person or a program in, with the scopes you give it: for some queues, for one
              space, until a day. Only a hash of it is kept.
              <CodeBlock code="npx skep tokens create --name ci --scopes enqueue --expires 90d" />
            </EmptyState>
          ) : (
            <Table
              label="Tokens"
              rows={tokens}
              columns={columnsOf(setRevoking)}
              keyOf={({ id }) => id}
              rowHeight={52}
            />
          )
        }
      </Loaded>
      {isNew && (
        <NewToken
          isFirst={isOpen}
          onClose={() => setNew(false)}
          onMade={({ token, view }) => {
            setNew(false)
            setMade({ token, name: view.name })
            // The server closes within seconds: this page goes on with the new token.
            if (isOpen) void signIn(token)
          }}
        />
      )}
      {made && <Shown {...made} onClose={() => setMade(null)} />}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}`}
          action="Revoke"
          danger
          busy={revoke.isPending}
          onClose={() => setRevoking(null)}
          onConfirm={() => revoke.mutate({ id: revoking.id })}
        >
          <p>
            Whoever uses it is turned away from now on. It cannot be taken back: a new token has to be made.
          </p>
        </Confirm>
      )}
    </Page>
  )
}

function Shown({
  token,
  name,
  onClose,
}: {
  readonly token: string
  readonly name: string
  readonly onClose: () => void
}): ReactNode {
  return (
    <Dialog
      title={`The token ${name}`}
      onClose={onClose}
      onSubmit={onClose}
      footer={
        <Button type="submit" look="main">
          I have copied it
        </Button>
      }
    >
      <div className="stack">
        <Notice tone="warn" icon="tokens">
          This is the only time that it is shown. Only a hash of it is kept.
        </Notice>
        <CodeBlock code={token} label="Copy the token" />
        <p className="soft small">
          Programs show it as <code>authorization: Bearer …</code>, the command takes it from{' '}
          <code>SKEP_TOKEN</code>.
        </p>
      </div>
    </Dialog>
  )
}

function Expiry({ at }: { readonly at: string | null }): ReactNode {
  const now = useNow()
  if (at === null) return <span className="faint">never</span>
  return Date.parse(at) < now ? <Badge tone="bad">expired</Badge> : <TimeAgo at={at} />
}

function columnsOf(onRevoke: (token: TokenView) => void): readonly Column<TokenView>[] {
  return [
    {
      id: 'name',
      title: 'Token',
      width: 'minmax(9rem, 2fr)',
      cell: ({ name, createdBy }) => (
        <span className="worker-cell">
          <strong className="cut">{name}</strong>
          <span className="small faint cut">by {createdBy}</span>
        </span>
      ),
    },
    {
      id: 'scopes',
      title: 'May',
      width: 'minmax(7rem, 1.5fr)',
      cell: ({ scopes }) => (
        <span className="row">
          {scopes.map((scope) => (
            <Badge key={scope} tone={scope === 'admin' ? 'bad' : scope === 'operate' ? 'warn' : 'info'}>
              {scope}
            </Badge>
          ))}
        </span>
      ),
    },
    {
      id: 'where',
      title: 'Where',
      width: 'minmax(8rem, 1.5fr)',
      wideOnly: true,
      cell: ({ space, queues, payloads }) => (
        <span className="soft">
          {space} / {queues.join(', ')}
          {!payloads && <Badge title="Payloads, results and logs are hidden from it">no payloads</Badge>}
        </span>
      ),
    },
    {
      id: 'used',
      title: 'Last used',
      width: '7rem',
      wideOnly: true,
      cell: ({ lastUsedAt }) => <TimeAgo at={lastUsedAt} />,
    },
    {
      id: 'created',
      title: 'Made',
      width: '7rem',
      wideOnly: true,
      cell: ({ createdAt }) => <TimeAgo at={createdAt} />,
    },
    {
      id: 'expires',
      title: 'Ends',
      width: '7rem',
      wideOnly: true,
      cell: ({ expiresAt }) => <Expiry at={expiresAt} />,
    },
    {
      id: 'act',
      title: <span className="unseen">Actions</span>,
      width: '3.5rem',
      cell: (token) => (
        <IconButton label={`Revoke ${token.name}`} icon="trash" small onClick={() => onRevoke(token)} />
      ),
    },
  ]
}

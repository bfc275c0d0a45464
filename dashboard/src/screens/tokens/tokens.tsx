import { type ReactNode, useState } from 'react'
import type { TokenView } from '../../../../src/operations/schema/wire-types.ts'
import { signIn } from '../../api/credential.ts'
import { useCan, useMe } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { Page } from '../../shell/page.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Confirm, Dialog } from '../../ui/dialog.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Badge } from '../../ui/state.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo, useNow } from '../../ui/time.tsx'
import { Notice } from '../shared/notice.tsx'
import { NewToken } from './new-token.tsx'

/** Access tokens for people and programs. */
export function TokensScreen(): ReactNode {
  const isAdmin = useCan('admin')
  // Local access without a login, until the first token exists.
  const isOpen = useMe()?.name === 'local'
  const request = useApi('tokens.list', {}, { enabled: isAdmin })
  const [isNew, setNew] = useState(false)
  const [created, setCreated] = useState<{ readonly token: string; readonly name: string } | null>(null)
  const [revoking, setRevoking] = useState<TokenView | null>(null)
  const revoke = useAct('tokens.revoke', {
    success: 'Token revoked',
    onDone: () => setRevoking(null),
  })
  if (!isAdmin) {
    return (
      <Page title="Tokens" name="Tokens">
        <EmptyState title="Admins only" icon="tokens">
          Managing tokens requires the scope <code>admin</code>.
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
      <Loaded request={request}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <EmptyState title="No tokens" icon="tokens">
              A token gives a person or a program access, limited by scopes, queues, space and expiry. Only
              its hash is stored.
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
          onCreated={({ token, view }) => {
            setNew(false)
            setCreated({ token, name: view.name })
            // The server ends local access within seconds, so the page logs in with the new token.
            if (isOpen) void signIn(token)
          }}
        />
      )}
      {created && <CreatedToken {...created} onClose={() => setCreated(null)} />}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}`}
          action="Revoke"
          danger
          busy={revoke.isPending}
          onClose={() => setRevoking(null)}
          onConfirm={() => revoke.mutate({ id: revoking.id })}
        >
          <p>Requests with this token are rejected from now on. This cannot be undone.</p>
        </Confirm>
      )}
    </Page>
  )
}

function CreatedToken({
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
      title={`Token ${name}`}
      onClose={onClose}
      onSubmit={onClose}
      footer={
        <Button type="submit" look="main">
          Done
        </Button>
      }
    >
      <div className="stack">
        <Notice tone="warn" icon="tokens">
          Copy the token now: it is shown only once. Only its hash is stored.
        </Notice>
        <CodeBlock code={token} label="Copy token" />
        <p className="soft small">
          Send it as <code>authorization: Bearer …</code>. The CLI reads it from <code>SKEP_TOKEN</code>.
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
      title: 'Scopes',
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
      title: 'Access',
      width: 'minmax(8rem, 1.5fr)',
      wideOnly: true,
      cell: ({ space, queues, payloads }) => (
        <span className="soft">
          {space} / {queues.join(', ')}{' '}
          {!payloads && <Badge title="Cannot read payloads, results and logs">no payloads</Badge>}
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
      title: 'Created',
      width: '7rem',
      wideOnly: true,
      cell: ({ createdAt }) => <TimeAgo at={createdAt} />,
    },
    {
      id: 'expires',
      title: 'Expires',
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

import { type ReactNode, useState } from 'react'
import type { OutputOf, Scope } from '../../../../src/operations/schema/wire-types.ts'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Choice, Field } from '../../ui/field.tsx'
import { SCOPE_DESCRIPTIONS } from './scope-descriptions.ts'

const SCOPES = Object.entries(SCOPE_DESCRIPTIONS) as readonly [Scope, string][]

/** Creates a token. */
export function NewToken({
  isFirst = false,
  onClose,
  onCreated,
}: {
  /** The server allows local access, and requires a token as soon as one exists. */
  readonly isFirst?: boolean
  readonly onClose: () => void
  readonly onCreated: (created: OutputOf<'tokens.create'>) => void
}): ReactNode {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>([isFirst ? 'admin' : 'read'])
  const [queues, setQueues] = useState('*')
  const [expires, setExpires] = useState('90d')
  const [payloads, setPayloads] = useState(true)
  const create = useAct('tokens.create', { quiet: true, onDone: onCreated })
  const isReady = name.trim() !== '' && scopes.length > 0 && (!isFirst || scopes.includes('admin'))
  return (
    <Dialog
      title="New token"
      onClose={onClose}
      onSubmit={() => {
        if (!isReady) return
        create.mutate({
          name: name.trim(),
          scopes,
          payloads,
          queues: queues.split(/[\s,]+/).filter((pattern) => pattern !== ''),
          ...(expires === '' ? {} : { expires }),
        })
      }}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={!isReady} busy={create.isPending}>
            Create token
          </Button>
        </>
      }
    >
      <div className="stack">
        {isFirst && (
          <p className="soft">
            This server allows local access without a token. Once a token exists, it is required, so the first
            token needs the scope <code>admin</code>. You stay logged in with it.
          </p>
        )}
        <Field
          label="Name"
          value={name}
          autoFocus
          placeholder="ci"
          hint="Shown in the audit."
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset className="field-group">
          <legend>Scopes</legend>
          <div className="stack tight">
            {SCOPES.map(([scope, description]) => (
              <Checkbox
                key={scope}
                label={
                  <>
                    <strong>{scope}</strong> <span className="soft">{description}</span>
                  </>
                }
                checked={scopes.includes(scope)}
                onChange={(event) =>
                  setScopes(event.target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
                }
              />
            ))}
          </div>
        </fieldset>
        <Field
          label="Queues"
          value={queues}
          hint="Comma-separated names or patterns, such as mail.*, report.build. * for all."
          onChange={(event) => setQueues(event.target.value)}
        />
        <Choice label="Expires" value={expires} onChange={(event) => setExpires(event.target.value)}>
          <option value="1d">in 1 day</option>
          <option value="30d">in 30 days</option>
          <option value="90d">in 90 days</option>
          <option value="365d">in 365 days</option>
          <option value="">never</option>
        </Choice>
        <Checkbox
          label="Can read payloads, results and logs"
          checked={payloads}
          onChange={(event) => setPayloads(event.target.checked)}
        />
        {create.error && (
          <p className="field-error wrap-anywhere" role="alert">
            {create.error.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}

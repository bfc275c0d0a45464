import { type ReactNode, useState } from 'react'
import type { OutputOf, Scope } from '../../../../src/operations/schema/wire-types.ts'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Choice, Field } from '../../ui/field.tsx'
import { SCOPE_WORDS } from './scope-words.ts'

const SCOPES = Object.entries(SCOPE_WORDS) as readonly [Scope, string][]

/** Makes a token. */
export function NewToken({
  isFirst = false,
  onClose,
  onMade,
}: {
  /** The server is open to this machine, and asks for a token as soon as there is one. */
  readonly isFirst?: boolean
  readonly onClose: () => void
  readonly onMade: (made: OutputOf<'tokens.create'>) => void
}): ReactNode {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>([isFirst ? 'admin' : 'read'])
  const [queues, setQueues] = useState('*')
  const [expires, setExpires] = useState('90d')
  const [payloads, setPayloads] = useState(true)
  const create = useAct('tokens.create', { quiet: true, onDone: onMade })
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
          <Button onClick={onClose}>Make none</Button>
          <Button type="submit" look="main" disabled={!isReady} busy={create.isPending}>
            Make the token
          </Button>
        </>
      }
    >
      <div className="stack">
        {isFirst && (
          <p className="soft">
            This server is open to this machine. Once a token exists it requires one, so the first token needs
            the scope admin. You stay logged in with it.
          </p>
        )}
        <Field
          label="Name"
          value={name}
          autoFocus
          placeholder="ci"
          hint="How it is called in the audit."
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset className="field-group">
          <legend>It may</legend>
          <div className="stack tight">
            {SCOPES.map(([scope, words]) => (
              <Checkbox
                key={scope}
                label={
                  <>
                    <strong>{scope}</strong> <span className="soft">{words}</span>
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
          hint="Names or patterns, with commas: mail.*, report.build. A star is all."
          onChange={(event) => setQueues(event.target.value)}
        />
        <Choice label="Ends" value={expires} onChange={(event) => setExpires(event.target.value)}>
          <option value="1d">in a day</option>
          <option value="30d">in 30 days</option>
          <option value="90d">in 90 days</option>
          <option value="365d">in a year</option>
          <option value="">never</option>
        </Choice>
        <Checkbox
          label="It sees payloads, results and logs"
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

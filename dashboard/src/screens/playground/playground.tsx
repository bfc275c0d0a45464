import { type ReactNode, useEffect, useMemo, useState } from 'react'
import type { EnqueueInput, EnqueueOutput } from '../../../../src/operations/schema/wire-types.ts'
import { basePath } from '../../api/base.ts'
import { spaceOf } from '../../api/credential.ts'
import { stringifyExact } from '../../api/exact.ts'
import { hasCredential, useMe } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Field } from '../../ui/field.tsx'
import { JsonEditor, readJson } from '../../ui/json-editor.tsx'
import { EmptyState } from '../../ui/page-states.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { COPY_KINDS, type CopyKind, copyAs } from './copy-as.ts'
import { FollowedJob } from './followed-job.tsx'
import { initialOf, problemsOf } from './form-value.ts'
import { SchemaFields } from './schema-fields.tsx'
import { formOf } from './schema-form.ts'
import { NO_OPTIONS, optionsOf, SendOptions } from './send-options.tsx'
import './playground.css'

/** Enqueues a job by hand and follows it. */
export function PlaygroundScreen(): ReactNode {
  const [queue, setQueue] = useUrlParam<string>('queue', '')
  const queues = useApi('queues.list', {}).data?.queues ?? []
  return (
    <Page title="Playground" name="Playground">
      <div className="playground-queue">
        <Field
          label="Queue"
          list="playground-queues"
          value={queue}
          placeholder="mail.send"
          data-search
          autoFocus={queue === ''}
          onChange={(event) => setQueue(event.target.value)}
        />
        <datalist id="playground-queues">
          {queues.map(({ queue: name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
      {queue.trim() === '' ? (
        <EmptyState title="Choose a queue" icon="playground">
          If a worker publishes a JSON Schema for the payload, you get a form. Declare a schema to validate
          payloads when they are enqueued and when they are handled:
          <CodeBlock
            code={
              "const sendMail = queue('mail.send', {\n  payload: z.object({ to: z.string().email(), subject: z.string() }),\n})"
            }
          />
        </EmptyState>
      ) : (
        <Sender key={queue} queue={queue.trim()} />
      )}
    </Page>
  )
}

/** The schema of a queue, if a worker has published one. */
function useSchema(queue: string): { readonly isKnown: boolean; readonly schema: unknown } {
  const detail = useApi('queues.get', { queue }, { keeps: false })
  return { isKnown: !detail.isPending, schema: detail.data?.card?.schema ?? null }
}

function Sender({ queue }: { readonly queue: string }): ReactNode {
  const { isKnown, schema } = useSchema(queue)
  const field = useMemo(() => (schema === null ? null : formOf(schema)), [schema])
  const canForm = field !== null && field.kind !== 'json'
  const [mode, setMode] = useUrlParam<'form' | 'json'>('mode', 'form')
  const [value, setValue] = useState<unknown>({})
  const [text, setText] = useState('{}')
  const [options, setOptions] = useState(NO_OPTIONS)
  // Errors are shown after the first attempt to enqueue, not on an empty form.
  const [isTried, setTried] = useState(false)
  const [sent, setSent] = useState<readonly EnqueueOutput[]>([])
  const send = useAct('jobs.enqueue', {
    quiet: true,
    onDone: (output) => setSent((before) => [output, ...before].slice(0, 5)),
  })
  useEffect(() => {
    if (field === null) return
    const initial = initialOf(field)
    setValue(initial)
    setText(stringifyExact(initial, 2))
  }, [field])

  const isForm = canForm && mode === 'form'
  const read = isForm ? { value } : readJson(text)
  const problems = isForm ? problemsOf(field, value) : []
  const isReady = 'value' in read && problems.length === 0
  const input: EnqueueInput = { queue, payload: 'value' in read ? read.value : null, ...optionsOf(options) }
  const change = (next: 'form' | 'json'): void => {
    if (next === 'json') setText(stringifyExact(value, 2))
    else if ('value' in read) setValue(read.value)
    setMode(next)
  }
  if (!isKnown) return null
  return (
    <div className="playground">
      <form
        className="stack loose"
        // The form shows its own errors beside each field.
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          setTried(!isReady)
          if (isReady) send.mutate(input)
        }}
      >
        <Card
          title="Payload"
          actions={
            canForm && (
              <Segments
                label="Payload editor"
                value={isForm ? 'form' : 'json'}
                onChange={change}
                options={[
                  { value: 'form', label: 'Form' },
                  { value: 'json', label: 'JSON' },
                ]}
              />
            )
          }
        >
          {isForm ? (
            <SchemaFields
              field={field}
              label="Payload"
              path=""
              value={value}
              onChange={setValue}
              problems={isTried ? problems : []}
            />
          ) : (
            <JsonEditor
              label="Payload as JSON"
              value={text}
              onChange={setText}
              {...(schema === null ? { hint: 'No worker has published a schema for this queue.' } : {})}
            />
          )}
        </Card>
        <Card title="Options">
          <SendOptions draft={options} onChange={setOptions} />
        </Card>
        {send.error && (
          <p className="field-error wrap-anywhere" role="alert">
            {send.error.message}
          </p>
        )}
        <div className="row playground-send">
          <Button
            type="submit"
            look="main"
            icon="playground"
            disabled={!('value' in read)}
            busy={send.isPending}
          >
            Enqueue
          </Button>
          <span className="small faint">
            {isTried && problems.length > 0 && `${problems[0]?.path} ${problems[0]?.text}`}
          </span>
        </div>
      </form>
      <div className="stack loose">
        {sent.length === 0 ? (
          <Card title="Result">
            <p className="soft">Enqueue a job to follow its state, logs and result here.</p>
          </Card>
        ) : (
          sent.map(({ id, duplicate }) => <FollowedJob key={id} id={id} duplicate={duplicate} />)
        )}
        <CopyAs input={input} />
      </div>
    </div>
  )
}

function CopyAs({ input }: { readonly input: EnqueueInput }): ReactNode {
  const [kind, setKind] = useUrlParam<CopyKind>('as', 'curl')
  const me = useMe()
  const target = {
    server: `${location.origin}${basePath}`,
    withToken: me !== undefined && hasCredential(me),
    space: spaceOf(),
  }
  return (
    <Card
      title="Copy as"
      actions={
        <Segments
          label="Language"
          value={kind}
          onChange={setKind}
          options={COPY_KINDS.map((each) => ({ value: each, label: each }))}
        />
      }
    >
      <CodeBlock code={copyAs(kind, input, target)} label={`Copy as ${kind}`} />
    </Card>
  )
}

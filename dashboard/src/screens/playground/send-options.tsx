import type { ReactNode } from 'react'
import type { EnqueueInput } from '../../../../src/operations/schema/wire-types.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'

/** The enqueue options, as typed. */
export interface OptionDraft {
  readonly delay: string
  readonly priority: string
  readonly lane: string
  readonly unique: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

export const NO_OPTIONS: OptionDraft = { delay: '', priority: '', lane: '', unique: '', headers: [] }

/** The options that are set. */
export function optionsOf(draft: OptionDraft): Omit<EnqueueInput, 'queue' | 'payload'> {
  const headers = draft.headers
    .filter(([name]) => name.trim() !== '')
    .map(([name, value]) => [name.trim(), value])
  return {
    ...(draft.delay.trim() === '' ? {} : { delay: draft.delay.trim() }),
    ...(draft.priority.trim() === '' ? {} : { priority: Number(draft.priority) }),
    ...(draft.lane === '' ? {} : { lane: draft.lane }),
    ...(draft.unique === '' ? {} : { unique: draft.unique }),
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) as Record<string, string> }),
  }
}

export function SendOptions({
  draft,
  onChange,
}: {
  readonly draft: OptionDraft
  readonly onChange: (draft: OptionDraft) => void
}): ReactNode {
  const set = (part: Partial<OptionDraft>): void => onChange({ ...draft, ...part })
  const setHeader = (at: number, header: readonly [string, string]): void =>
    set({ headers: draft.headers.map((one, index) => (index === at ? header : one)) })
  const isDelayWrong = draft.delay.trim() !== '' && !/^\d+(\.\d+)?\s*(ms|s|m|h|d|w)$/.test(draft.delay.trim())
  return (
    <div className="stack">
      <div className="send-pair">
        <Field
          label="Delay"
          placeholder="now"
          value={draft.delay}
          error={isDelayWrong ? 'Enter a duration such as 30s or 5m.' : null}
          onChange={(event) => set({ delay: event.target.value })}
        />
        <Field
          label="Priority"
          type="number"
          min={-100}
          max={100}
          placeholder="queue default"
          value={draft.priority}
          onChange={(event) => set({ priority: event.target.value })}
        />
        <Field
          label="Lane"
          placeholder="queue default"
          value={draft.lane}
          onChange={(event) => set({ lane: event.target.value })}
        />
        <Field
          label="Unique key"
          placeholder="none"
          value={draft.unique}
          onChange={(event) => set({ unique: event.target.value })}
        />
      </div>
      {draft.headers.map(([name, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a header is its place
        <div key={index} className="send-header">
          <Field
            label="Header"
            value={name}
            onChange={(event) => setHeader(index, [event.target.value, value])}
          />
          <Field
            label="Value"
            value={value}
            onChange={(event) => setHeader(index, [name, event.target.value])}
          />
          <IconButton
            label={`Remove header ${index + 1}`}
            icon="close"
            small
            onClick={() => set({ headers: draft.headers.filter((_, at) => at !== index) })}
          />
        </div>
      ))}
      <Button
        small
        look="quiet"
        icon="plus"
        className="schema-add"
        onClick={() => set({ headers: [...draft.headers, ['', '']] })}
      >
        Add header
      </Button>
    </div>
  )
}

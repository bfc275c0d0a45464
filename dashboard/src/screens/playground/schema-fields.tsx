import { type ReactNode, useState } from 'react'
import { stringifyExact } from '../../api/exact.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Checkbox, Choice, Field, TextField } from '../../ui/field.tsx'
import { JsonEditor, readJson } from '../../ui/json-editor.tsx'
import { initialOf, type Problem } from './form-value.ts'
import type { Property, Field as SchemaField } from './schema-form.ts'

interface FieldProps<Kind extends SchemaField['kind'] = SchemaField['kind']> {
  readonly field: Extract<SchemaField, { kind: Kind }>
  readonly label: string
  readonly path: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly problems: readonly Problem[]
}

/** The form fields of a schema, each with its error. */
export function SchemaFields(props: FieldProps): ReactNode {
  const { field, value, label, onChange } = props
  if (!field.isNullable) return <ByKind {...props} />
  return (
    <div className="schema-optional">
      <Checkbox
        label={`${label} is null`}
        checked={value === null}
        onChange={(event) =>
          onChange(
            event.target.checked ? null : initialOf({ ...field, isNullable: false, initial: undefined }),
          )
        }
      />
      {value !== null && <ByKind {...props} />}
    </div>
  )
}

function ByKind(props: FieldProps): ReactNode {
  switch (props.field.kind) {
    case 'object':
      return <ObjectFields {...(props as FieldProps<'object'>)} />
    case 'list':
      return <ListFields {...(props as FieldProps<'list'>)} />
    case 'text':
      return <TextInput {...(props as FieldProps<'text'>)} />
    case 'number':
      return <NumberInput {...(props as FieldProps<'number'>)} />
    case 'boolean':
      return (
        <Checkbox
          label={props.label}
          checked={props.value === true}
          onChange={(event) => props.onChange(event.target.checked)}
        />
      )
    case 'choice':
      return <ChoiceInput {...(props as FieldProps<'choice'>)} />
    case 'json':
      return <JsonInput {...(props as FieldProps<'json'>)} />
  }
}

function problemAt(problems: readonly Problem[], path: string): string | null {
  return problems.find((problem) => problem.path === path)?.text ?? null
}

function labelOf(key: string, field: SchemaField, isRequired: boolean): string {
  return `${field.title ?? key}${isRequired ? '' : ' (optional)'}`
}

function ObjectFields({ field, path, value, onChange, problems, label }: FieldProps<'object'>): ReactNode {
  const now = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  const set = (key: string, item: unknown): void => {
    const { [key]: _, ...others } = now
    // In schema order, so that the same form always produces the same JSON.
    const next = item === undefined ? others : { ...others, [key]: item }
    onChange(
      Object.fromEntries(
        field.fields.flatMap(({ key: each }) => (next[each] === undefined ? [] : [[each, next[each]]])),
      ),
    )
  }
  const isIn = ({ key, isRequired }: Property): boolean => isRequired || now[key] !== undefined
  const left = field.fields.filter((property) => !isIn(property))
  const fields = (
    <div className="stack">
      {field.fields.filter(isIn).map(({ key, field: one, isRequired }) => (
        <div key={key} className="schema-property">
          <div className="grow">
            <SchemaFields
              field={one}
              label={labelOf(key, one, isRequired)}
              path={path === '' ? key : `${path}.${key}`}
              value={now[key]}
              onChange={(item) => set(key, item)}
              problems={problems}
            />
            {one.description && <p className="field-hint">{one.description}</p>}
          </div>
          {!isRequired && (
            <IconButton label={`Remove ${key}`} icon="close" small onClick={() => set(key, undefined)} />
          )}
        </div>
      ))}
      {left.length > 0 && (
        <div className="row wraps">
          {left.map(({ key, field: one }) => (
            <Button key={key} small icon="plus" onClick={() => set(key, initialOf(one))}>
              {key}
            </Button>
          ))}
        </div>
      )}
    </div>
  )
  if (path === '') return fields
  return (
    <fieldset className="field-group">
      <legend>{label}</legend>
      {fields}
    </fieldset>
  )
}

function ListFields({ field, path, value, onChange, problems, label }: FieldProps<'list'>): ReactNode {
  const items: readonly unknown[] = Array.isArray(value) ? value : []
  const error = problemAt(problems, path)
  return (
    <fieldset className="field-group">
      <legend>{label}</legend>
      <div className="stack">
        {items.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an item is its place
          <div key={index} className="schema-property">
            <div className="grow">
              <SchemaFields
                field={field.item}
                label={`${index + 1}`}
                path={`${path}[${index}]`}
                value={item}
                onChange={(next) => onChange(items.map((one, at) => (at === index ? next : one)))}
                problems={problems}
              />
            </div>
            <IconButton
              label={`Remove item ${index + 1}`}
              icon="close"
              small
              onClick={() => onChange(items.filter((_, at) => at !== index))}
            />
          </div>
        ))}
        <Button
          small
          look="quiet"
          icon="plus"
          className="schema-add"
          disabled={field.max !== null && items.length >= field.max}
          onClick={() => onChange([...items, initialOf(field.item)])}
        >
          Add item
        </Button>
        {error && (
          <p className="field-error" role="alert">
            {error}
          </p>
        )}
      </div>
    </fieldset>
  )
}

const INPUT_TYPES = {
  plain: 'text',
  long: 'text',
  email: 'email',
  url: 'url',
  date: 'date',
  'date-time': 'text',
  time: 'text',
  uuid: 'text',
} as const

function TextInput({ field, label, path, value, onChange, problems }: FieldProps<'text'>): ReactNode {
  const shared = {
    label,
    value: typeof value === 'string' ? value : '',
    error: problemAt(problems, path),
  }
  if (field.format === 'long') {
    return <TextField {...shared} rows={4} onChange={(event) => onChange(event.target.value)} />
  }
  return (
    <Field {...shared} type={INPUT_TYPES[field.format]} onChange={(event) => onChange(event.target.value)} />
  )
}

function NumberInput({ field, label, path, value, onChange, problems }: FieldProps<'number'>): ReactNode {
  // Keeps the typed string: an unfinished number must not be reformatted.
  const [text, setText] = useState(() => stringifyExact(value))
  return (
    <Field
      label={label}
      type="number"
      inputMode={field.isWhole ? 'numeric' : 'decimal'}
      step={field.isWhole ? 1 : 'any'}
      min={field.min ?? undefined}
      max={field.max ?? undefined}
      value={text}
      error={problemAt(problems, path)}
      onChange={(event) => {
        setText(event.target.value)
        onChange(event.target.value === '' ? null : Number(event.target.value))
      }}
    />
  )
}

function ChoiceInput({ field, label, path, value, onChange, problems }: FieldProps<'choice'>): ReactNode {
  const at = field.values.findIndex((one) => JSON.stringify(one) === JSON.stringify(value))
  return (
    <Choice
      label={label}
      value={String(at)}
      error={problemAt(problems, path)}
      onChange={(event) => onChange(field.values[Number(event.target.value)])}
    >
      {field.values.map((one, index) => (
        <option key={JSON.stringify(one)} value={String(index)}>
          {typeof one === 'string' ? one : JSON.stringify(one)}
        </option>
      ))}
    </Choice>
  )
}

function JsonInput({ field, label, value, onChange }: FieldProps<'json'>): ReactNode {
  const [text, setText] = useState(() => stringifyExact(value, 2))
  return (
    <JsonEditor
      label={label}
      rows={4}
      value={text}
      hint={field.why}
      onChange={(next) => {
        setText(next)
        const read = readJson(next)
        if ('value' in read) onChange(read.value)
      }}
    />
  )
}

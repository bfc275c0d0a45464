import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { classes } from './classes.ts'

interface About {
  readonly label: string
  /** What it is good for. */
  readonly hint?: ReactNode
  /** What is wrong with it. */
  readonly error?: string | null | undefined
  /** The label is read out and not shown. */
  readonly bare?: boolean
}

function Frame({
  label,
  hint,
  error,
  bare = false,
  id,
  children,
}: About & { readonly id: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className={classes('field', error && 'field-bad')}>
      <label htmlFor={id} className={bare ? 'unseen' : undefined}>
        {label}
      </label>
      {children}
      {error ? (
        <p className="field-error" id={`${id}-about`} role="alert">
          {error}
        </p>
      ) : (
        hint && (
          <p className="field-hint" id={`${id}-about`}>
            {hint}
          </p>
        )
      )}
    </div>
  )
}

export function Field({
  label,
  hint,
  error,
  bare,
  className,
  ...rest
}: About & InputHTMLAttributes<HTMLInputElement>): ReactNode {
  const id = useId()
  return (
    <Frame {...{ label, hint, error, id }} {...(bare ? { bare } : {})}>
      <input
        {...rest}
        id={id}
        data-autofocus={rest.autoFocus || undefined}
        className={classes('input', className)}
        aria-describedby={hint || error ? `${id}-about` : undefined}
        aria-invalid={error ? true : undefined}
        autoComplete="off"
        spellCheck={false}
      />
    </Frame>
  )
}

export function TextField({
  label,
  hint,
  error,
  bare,
  className,
  ...rest
}: About & TextareaHTMLAttributes<HTMLTextAreaElement>): ReactNode {
  const id = useId()
  return (
    <Frame {...{ label, hint, error, id }} {...(bare ? { bare } : {})}>
      <textarea
        {...rest}
        id={id}
        data-autofocus={rest.autoFocus || undefined}
        className={classes('input', className)}
        aria-describedby={hint || error ? `${id}-about` : undefined}
        aria-invalid={error ? true : undefined}
        spellCheck={false}
      />
    </Frame>
  )
}

export function Choice({
  label,
  hint,
  error,
  bare,
  className,
  children,
  ...rest
}: About & SelectHTMLAttributes<HTMLSelectElement>): ReactNode {
  const id = useId()
  return (
    <Frame {...{ label, hint, error, id }} {...(bare ? { bare } : {})}>
      <select {...rest} id={id} className={classes('input', 'select', className)}>
        {children}
      </select>
    </Frame>
  )
}

export function Checkbox({
  label,
  ...rest
}: { readonly label: ReactNode } & InputHTMLAttributes<HTMLInputElement>): ReactNode {
  return (
    <label className="checkbox">
      <input type="checkbox" {...rest} />
      <span>{label}</span>
    </label>
  )
}

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
  /** Help text below the input. */
  readonly hint?: ReactNode
  /** Validation error, shown instead of the hint. */
  readonly error?: string | null | undefined
  /** The label is visually hidden. */
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

/** Attributes that link an input to its hint or error. */
function wiring(id: string, { hint, error }: Pick<About, 'hint' | 'error'>, autoFocus: boolean | undefined) {
  return {
    id,
    'data-autofocus': autoFocus || undefined,
    'aria-describedby': hint || error ? `${id}-about` : undefined,
    'aria-invalid': error ? true : undefined,
  }
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
        {...wiring(id, { hint, error }, rest.autoFocus)}
        className={classes('input', className)}
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
        {...wiring(id, { hint, error }, rest.autoFocus)}
        className={classes('input', className)}
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

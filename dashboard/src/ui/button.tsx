import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** `main` at most once per view; `danger` for destructive actions. @default 'plain' */
  readonly look?: 'main' | 'plain' | 'quiet' | 'danger'
  readonly icon?: IconName
  /** The action is in progress. */
  readonly busy?: boolean
  readonly small?: boolean
}

export function Button({
  look = 'plain',
  icon,
  busy = false,
  small = false,
  children,
  className,
  disabled,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={classes(
        'button',
        `button-${look}`,
        small && 'button-small',
        !children && 'button-icon',
        className,
      )}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {busy ? (
        <span className="spinner" aria-hidden="true" />
      ) : (
        icon && <Icon name={icon} size={small ? 14 : 16} />
      )}
      {children && <span>{children}</span>}
    </button>
  )
}

/** A button with only an icon. The label is its accessible name and tooltip. */
export function IconButton({
  label,
  ...rest
}: Omit<ButtonProps, 'children' | 'aria-label'> & {
  readonly label: string
  readonly icon: IconName
}): ReactNode {
  return <Button look="quiet" title={label} {...rest} aria-label={label} />
}

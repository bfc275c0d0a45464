import type { ReactNode } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { SECTIONS } from './sections.ts'

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Go anywhere, or search'],
  ['/', 'Write a query, or find'],
  ['j k', 'Down and up in a list; the next job and the one before'],
  ['Enter', 'Open'],
  ['x', 'Select; with shift up to here'],
  ['Esc', 'Close'],
  ['?', 'This list'],
]

/** All keys, for whoever wants to leave the mouse alone. */
export function KeysHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const sections = SECTIONS.flatMap((group) => group.sections).flatMap(({ keys, title }) =>
    keys ? [[keys, title] as const] : [],
  )
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys">
        {[...KEYS, ...sections].map(([keys, text]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

import type { ReactNode } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { SECTIONS } from './sections.ts'

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Search or go to a page'],
  ['/', 'Focus the search field'],
  ['j k', 'Move down or up in a list; next or previous job'],
  ['Enter', 'Open'],
  ['x', 'Select; with Shift, select a range'],
  ['Esc', 'Close'],
  ['?', 'Show keyboard shortcuts'],
]

/** The list of keyboard shortcuts. */
export function KeysHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const sections = SECTIONS.flatMap((group) => group.sections).flatMap(({ keys, title }) =>
    keys ? [[keys, title] as const] : [],
  )
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
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

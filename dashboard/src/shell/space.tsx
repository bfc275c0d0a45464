import { type ReactNode, useState } from 'react'
import type { Me } from '../../../src/operations/schema/wire-types.ts'
import { call } from '../api/client.ts'
import { chooseSpace } from '../api/credential.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Menu } from '../ui/menu.tsx'
import { Badge } from '../ui/state.tsx'

/** The selected space, and a menu to switch for callers with access to several. */
export function Space({ me }: { readonly me: Me }): ReactNode {
  const [isSwitching, setSwitching] = useState(false)
  const others = Array.isArray(me.spaces) ? (me.spaces as readonly string[]) : []
  if (me.spaces === null || (me.spaces !== '*' && others.length === 0)) {
    return me.space === 'default' ? null : <Badge title="Space">{me.space}</Badge>
  }
  return (
    <>
      <Menu
        label={`Space ${me.space}`}
        small
        items={[
          ...[...new Set([me.space, ...others])].map((space) => ({
            label: space,
            checked: space === me.space,
            onSelect: () => go(space),
          })),
          ...(me.spaces === '*'
            ? ['line' as const, { label: 'Switch to …', onSelect: () => setSwitching(true) }]
            : []),
        ]}
      >
        {me.space}
      </Menu>
      {isSwitching && <SwitchSpace onClose={() => setSwitching(false)} />}
    </>
  )
}

function go(space: string): void {
  chooseSpace(space)
  location.reload()
}

/** What an HTTP header can carry. The server checks the name and the caller's access. */
const HEADER_SAFE = /^[\x21-\x7e]+$/

function SwitchSpace({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const space = text.trim()
  // Checked before switching: every request of this tab sends the space, so a refused one would break the
  // page.
  const ask = async (): Promise<void> => {
    if (!HEADER_SAFE.test(space)) {
      setProblem('Use letters, digits and "_ - . : /", without spaces.')
      return
    }
    setBusy(true)
    try {
      await call('me.get', {}, { space })
      go(space)
    } catch (error) {
      setProblem((error as Error).message)
      setBusy(false)
    }
  }
  return (
    <Dialog
      title="Switch space"
      size="s"
      onClose={onClose}
      onSubmit={() => space !== '' && !isBusy && void ask()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" busy={isBusy} disabled={space === ''}>
            Switch
          </Button>
        </>
      }
    >
      <Field
        label="Space"
        hint="Changes this tab only."
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setProblem(null)
        }}
        error={problem}
        autoComplete="off"
        spellCheck={false}
        autoFocus
      />
    </Dialog>
  )
}

import { type ReactNode, useState } from 'react'
import type { Me } from '../../../src/operations/schema/wire-types.ts'
import { call } from '../api/client.ts'
import { chooseSpace } from '../api/credential.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/field.tsx'
import { Menu } from '../ui/menu.tsx'
import { Badge } from '../ui/state.tsx'

/** Which space is shown, and the way to another one, for those who may look at several. */
export function Space({ me }: { readonly me: Me }): ReactNode {
  const [isNaming, setNaming] = useState(false)
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
            ? ['line' as const, { label: 'Another space …', onSelect: () => setNaming(true) }]
            : []),
        ]}
      >
        {me.space}
      </Menu>
      {isNaming && <AnotherSpace onClose={() => setNaming(false)} />}
    </>
  )
}

function go(space: string): void {
  chooseSpace(space)
  location.reload()
}

/** What a header can carry. The server says whether it is a name, and whether the caller may look there. */
const CARRIED = /^[\x21-\x7e]+$/

function AnotherSpace({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const space = text.trim()
  // Every page of this tab asks for the space that was chosen, so one that is refused would leave nothing to go on with.
  const ask = async (): Promise<void> => {
    if (!CARRIED.test(space)) {
      setProblem('A name has letters, digits or "_ - . : /", and no blanks.')
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
      title="Another space"
      size="s"
      onClose={onClose}
      onSubmit={() => space !== '' && !isBusy && void ask()}
      footer={
        <>
          <Button onClick={onClose}>Stay here</Button>
          <Button look="main" type="submit" busy={isBusy} disabled={space === ''}>
            Go there
          </Button>
        </>
      }
    >
      <Field
        label="Name of the space"
        hint="This tab alone goes there."
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

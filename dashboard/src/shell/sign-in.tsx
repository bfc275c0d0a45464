import { type ReactNode, useState } from 'react'
import { signIn } from '../api/credential.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Logo } from '../ui/icon.tsx'

/** Shown when the session expires while the page is open. Before that the server sends its own login page. */
export function SignIn(): ReactNode {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const send = async (): Promise<void> => {
    setBusy(true)
    const failed = await signIn(token.trim())
    setBusy(false)
    setProblem(failed)
    if (failed === null) location.reload()
  }
  return (
    <main className="sign-in">
      <form
        className="sign-in-card"
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <Logo size={44} />
        <h1>Log in to Skep</h1>
        <p className="soft">
          Enter an access token. An administrator creates one with <code>skep tokens create</code>.
        </p>
        <Field
          label="Access token"
          type="password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          autoFocus
          error={problem}
        />
        <Button look="main" type="submit" busy={isBusy} disabled={token.trim() === ''}>
          Log in
        </Button>
      </form>
    </main>
  )
}

import { type ReactNode, useState } from 'react'
import { keepToken, tokenOf } from '../api/credential.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Mark } from '../ui/icon.tsx'

/** Shown when the server wants to know who asks. The token stays in this tab. */
export function SignIn({ reason }: { readonly reason: string }): ReactNode {
  const [token, setToken] = useState('')
  return (
    <main className="sign-in">
      <form
        className="sign-in-card"
        onSubmit={(event) => {
          event.preventDefault()
          keepToken(token.trim())
          location.reload()
        }}
      >
        <Mark size={44} />
        <h1>Sign in to Skep</h1>
        <p className="soft">
          This server wants a token. Make one with <code>skep tokens create --scopes read</code>, or ask
          whoever runs it.
        </p>
        <Field
          label="Token"
          type="password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          autoFocus
          error={tokenOf() === null ? null : reason}
        />
        <Button look="main" type="submit" disabled={token.trim() === ''}>
          Sign in
        </Button>
      </form>
    </main>
  )
}

import { urlOf } from './base.ts'

/**
 * Who asks is told by a cookie that no script can read: the server sets it when somebody signs in with a token. Here is only which
 * space this tab looks at.
 */
const SPACE = 'skep.space'

/** The space that was chosen; null: the one of the credential. */
export function spaceOf(): string | null {
  return sessionStorage.getItem(SPACE)
}

export function chooseSpace(space: string | null): void {
  if (space === null) sessionStorage.removeItem(SPACE)
  else sessionStorage.setItem(SPACE, space)
}

export function credentialHeaders(): Record<string, string> {
  const space = spaceOf()
  return space === null ? {} : { 'skep-space': space }
}

/** Signs in with a token; says what went wrong, or null. */
export async function signIn(token: string): Promise<string | null> {
  try {
    const response = await fetch(urlOf('api/v1/login'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
      credentials: 'same-origin',
    })
    if (response.ok) return null
    if (response.status === 401) return 'That is not a token of this server, or not any more.'
    return `The server refused with ${response.status}. Wait a little and try again.`
  } catch {
    return 'The server does not answer.'
  }
}

export async function signOut(): Promise<void> {
  chooseSpace(null)
  await fetch(urlOf('api/v1/logout'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    credentials: 'same-origin',
  })
  location.reload()
}

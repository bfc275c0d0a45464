import { urlOf } from './base.ts'

/**
 * The credential is an HttpOnly cookie that the server sets at login. Only the space selected in this tab is
 * stored here.
 */
const SPACE = 'skep.space'

/** The selected space; null for the default space of the credential. */
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

/** Logs in with a token. Returns an error message, or null on success. */
export async function signIn(token: string): Promise<string | null> {
  try {
    const response = await fetch(urlOf('api/v1/login'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
      credentials: 'same-origin',
    })
    if (response.ok) return null
    if (response.status === 401) return 'Invalid or expired token.'
    return `The server returned status ${response.status}. Wait a moment and try again.`
  } catch {
    return 'The server cannot be reached.'
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

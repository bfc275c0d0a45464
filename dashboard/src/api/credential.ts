/**
 * What the caller shows to the server: a token, if the server asked for one, and the space that it looks at. The token stays in
 * this tab and ends with it; the space is in the address of the page.
 */
const KEY = 'skep.token'

export function tokenOf(): string | null {
  return sessionStorage.getItem(KEY)
}

export function keepToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, token)
}

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
  const token = tokenOf()
  const space = spaceOf()
  return {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(space === null ? {} : { 'skep-space': space }),
  }
}

/**
 * Hides the password of a database address. It does not parse the address, because one that cannot be parsed
 * has a password too.
 */
export function maskUrl(url: string): string {
  return (
    url
      // Up to the last @ of the part before the path: a password may itself hold an @.
      .replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@/i, (_, scheme: string, login: string) => {
        const colon = login.indexOf(':')
        return colon === -1 ? `${scheme}${login}@` : `${scheme}${login.slice(0, colon)}:***@`
      })
      // A password with a slash or question mark that is not encoded: hide everything before the last @.
      .replace(/^([a-z][a-z0-9+.-]*:\/\/[^:/?#@]*):(?!\*\*\*@)(?=.*@).*@/i, '$1:***@')
      .replace(/([?&](?:password|passfile|sslpassword|sslkey)=)[^&#]*/gi, '$1***')
  )
}

/** Hides in any text the secrets of a database address: drivers like to repeat what they were given. */
export function masker(url: string | undefined): (text: string) => string {
  const inUrls = (text: string): string =>
    text.replace(/[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'`<>]*/gi, (found) => maskUrl(found))
  if (url === undefined) return inUrls
  const secrets = passwordsOf(url)
  return (text) => {
    let masked = text.replaceAll(url, maskUrl(url))
    for (const secret of secrets) masked = masked.replaceAll(secret, '***')
    return inUrls(masked)
  }
}

function passwordsOf(url: string): string[] {
  const found = new Set<string>()
  const add = (raw: string | undefined): void => {
    if (raw === undefined) return
    found.add(raw)
    try {
      found.add(decodeURIComponent(raw))
    } catch {
      // Not an encoded text: there is only the raw one.
    }
  }
  add(/^[a-z][a-z0-9+.-]*:\/\/[^:/?#@]*:(.*)@/i.exec(url)?.[1])
  add(/^[a-z][a-z0-9+.-]*:\/\/[^:/?#@]*:([^@/]*)@/i.exec(url)?.[1])
  for (const match of url.matchAll(/[?&](?:password|sslpassword)=([^&#]*)/gi)) add(match[1])
  // Hiding a very short one would make holes in every sentence and so tell what it is; one that is also the
  // user's or the server's name cannot be hidden without hiding those.
  const shown = maskUrl(url)
  return [...found]
    .filter((secret) => secret.length >= 4 && !shown.includes(secret))
    .sort((a, b) => b.length - a.length)
}

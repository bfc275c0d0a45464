import { SkepError } from '../../core/errors.ts'

export interface Access {
  readonly servers: readonly string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  readonly tls?: object
}

/** Takes the name and password, or the token, out of the URLs, where the client does not look for them. */
export function readServers(urls: readonly string[]): Access {
  let access: Omit<Access, 'servers'> = {}
  const servers = urls.map((given) => {
    const text = given.includes('://') ? given : `nats://${given}`
    const url = URL.canParse(text) ? new URL(text) : null
    if (url === null || !/^(nats|tls):$/.test(url.protocol) || !/^\/?$/.test(url.pathname)) {
      throw new SkepError('OPTION_INVALID', 'A server of NATS is not a URL such as "nats://127.0.0.1:4222".')
    }
    const { protocol, username, password, host } = url
    if (username !== '') {
      const user = decodeURIComponent(username)
      access = password === '' ? { token: user } : { user, pass: decodeURIComponent(password) }
    }
    if (protocol === 'tls:') access = { ...access, tls: {} }
    return host
  })
  return { servers, ...access }
}

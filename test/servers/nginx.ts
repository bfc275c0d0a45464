// nginx as people put it in front of a server: it keeps a small pool of connections to it and sends the requests of all clients
// over them.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackage } from './apt.ts'
import { freePort, serverFolder, serverIdentity, startServer } from './server.ts'

export interface Nginx {
  readonly url: string
  stop(): Promise<void>
}

export type NginxResult =
  | { readonly nginx: Nginx; readonly reason?: undefined }
  | { readonly nginx?: undefined; readonly reason: string }

export interface NginxOptions {
  /** Whether nginx receives a whole request before it sends it on. @default true, as in nginx */
  readonly buffering?: boolean
  /** Idle connections that it keeps to the server. @default 1 */
  readonly pool?: number
}

export const nginxPaths: readonly string[] = [
  '/usr/sbin/nginx',
  '/usr/local/bin/nginx',
  '/opt/homebrew/bin/nginx',
]

/** Starts nginx in front of the server of this address, or says why there is none: a test skips with it. */
export async function startNginx(upstream: string, options: NginxOptions = {}): Promise<NginxResult> {
  const { buffering = true, pool = 1 } = options
  let command = nginxPaths.find((path) => existsSync(path))
  if (command === undefined) {
    const reason = installPackage('nginx-light')
    if (reason !== undefined) return { reason: `nginx is not installed, and ${reason}` }
    command = nginxPaths.find((path) => existsSync(path))
    if (command === undefined) return { reason: 'the package nginx-light contains no program' }
  }
  const identity = serverIdentity()
  const folder = serverFolder('nginx', identity)
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, configOf({ folder, port, upstream: new URL(upstream).host, buffering, pool }))
  const url = `http://127.0.0.1:${port}`
  const running = await startServer({
    command,
    args: ['-c', config, '-p', folder, '-e', join(folder, 'error.log')],
    identity,
    folder,
    stopSignal: 'SIGTERM',
    // Any answer is one of nginx.
    ping: async () => void (await fetch(url)),
  })
  return { nginx: { url, stop: running.stop } }
}

function configOf({
  folder,
  port,
  upstream,
  buffering,
  pool,
}: Required<NginxOptions> & {
  readonly folder: string
  readonly port: number
  readonly upstream: string
}): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  )
  return `
    daemon off;
    master_process off;
    pid ${join(folder, 'nginx.pid')};
    events { worker_connections 256; }
    http {
      access_log off;
      ${temporary.join('\n')}
      client_max_body_size 64m;
      upstream skep { server ${upstream}; keepalive ${pool}; }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://skep;
          proxy_http_version 1.1;
          proxy_set_header connection "";
          proxy_set_header host $http_host;
          proxy_request_buffering ${buffering ? 'on' : 'off'};
        }
      }
    }
  `
}

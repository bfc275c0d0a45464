import type { Logger } from '../../index.ts'
import type { NodeServerOptions } from '../../server.ts'
import type { Call, Command } from '../command.ts'
import { type Opened, using } from '../connect/open.ts'
import { alertsOf, grpcAddress, listen, PORT_FLAG, serverLogger, tlsOf, tokensOf } from '../connect/serve.ts'
import { aborted, listenForStop, whenOutputCloses } from '../connect/stop.ts'
import { EXIT, usage } from '../exit.ts'
import { complain, explain, isAway } from '../explain-error.ts'
import { clock, span } from '../format/numbers.ts'
import { clean, quote } from '../format/text.ts'

export const serverCommand: Command = {
  name: 'server',
  summary: 'Serve the dashboard, the HTTP API and gRPC on one port; it runs no handlers',
  asksNoServer: true,
  usage: ['server [flags]'],
  flags: {
    host: { kind: 'text', value: 'address', help: 'Listen address. Default: 127.0.0.1 (this machine only)' },
    ...PORT_FLAG,
    hosts: {
      kind: 'text',
      value: 'a,b',
      help: 'Accepted host names, such as jobs.example.com; * for any',
    },
    token: { kind: 'text', value: 'text', help: 'An admin token. Better: --token-file' },
    'token-file': { kind: 'text', value: 'path', help: 'A file with that token' },
    'tls-cert': {
      kind: 'text',
      value: 'path',
      help: 'A file with the TLS certificate, to serve https',
    },
    'tls-key': { kind: 'text', value: 'path', help: 'A file with the TLS key' },
    'read-only': { kind: 'switch', help: 'Refuse every change' },
    environment: { kind: 'text', value: 'word', help: 'Shown in the dashboard, such as production' },
    'trace-url': { kind: 'text', value: 'url', help: 'Address of traces; {trace} is replaced by the id' },
    'alert-url': { kind: 'text', value: 'url', help: 'Webhook for alerts, https only' },
    'alert-secret-file': {
      kind: 'text',
      value: 'path',
      help: 'A file with the secret that signs alerts: whsec_…',
    },
    'alert-secret': { kind: 'text', value: 'text', help: 'That secret. Better: --alert-secret-file' },
    'alert-allow': {
      kind: 'text',
      value: 'a,b',
      help: 'Internal hosts and networks that alerts may be sent to',
    },
    proxies: { kind: 'text', value: 'n', help: 'Number of trusted proxies (for x-forwarded-for)' },
    'plain-http': {
      kind: 'switch',
      help: 'Accept tokens from other machines without https, if the network is encrypted',
    },
    insecure: { kind: 'switch', help: 'Allow everything without authentication' },
    drain: {
      kind: 'text',
      value: '10s',
      help: 'Drain timeout: time for requests to finish after a stop. Default: 10s',
    },
  },
  examples: [
    'skep server',
    'skep server --host 0.0.0.0 --hosts jobs.example.com --token-file /run/secrets/skep --proxies 1',
    'skep server --host 0.0.0.0 --hosts jobs.example.com --tls-cert cert.pem --tls-key key.pem',
    'skep server --db postgres://localhost/shop --read-only --environment production',
  ],

  async run(call) {
    const [word] = call.args.words
    if (word !== undefined) throw usage(`${quote(word)} is an unexpected argument.`, 'skep server [flags]')
    const logger = serverLogger((text) => say(call, `warning ${clean(text)}`))
    return using(call, { create: true, logger }, (opened) => serve(call, opened, logger))
  },
}

async function serve(call: Call, opened: Opened, logger: Logger): Promise<number> {
  const { args, out } = call
  const { skep, place } = opened
  const stop = listenForStop({
    onHurry: () => process.exit(EXIT.failure),
    onForce: () => process.exit(EXIT.failure),
  })
  whenOutputCloses(() => {
    // The output is closed; the server continues.
  })
  const host = args.text('host')
  try {
    const where = host === undefined ? {} : { host }
    const { server, at } = await listen(call, skep, serverOptions(call, opened, logger), where)
    const startedAt = Date.now()
    if (out.json) out.object({ event: 'listening', at: new Date().toISOString(), ...at, store: place.label })
    else {
      out.data(`${clock(startedAt)} serving ${place.label} on ${at.url}`)
      out.note(
        out.paintNote('dim', `  Dashboard ${at.url}   HTTP ${at.url}/api/v1   gRPC ${grpcAddress(at)}`),
      )
    }
    void tellWhenReady(call, opened, stop.signal)
    await aborted(stop.signal)
    const askedAt = Date.now()
    await server.close()
    const facts = { upMs: askedAt - startedAt, drainedMs: Date.now() - askedAt }
    if (out.json) out.object({ event: 'stopped', at: new Date().toISOString(), ...facts })
    else out.data(`${clock(Date.now())} stopped after ${span(facts.upMs)}`)
    return EXIT.ok
  } finally {
    stop.release()
  }
}

function serverOptions(call: Call, { place }: Opened, logger: Logger): NodeServerOptions {
  const { args } = call
  const hosts = args.names('hosts')
  const environment = args.text('environment')
  const traceUrl = args.text('trace-url')
  const proxies = args.whole('proxies', { min: 0, max: 10 })
  const drain = args.duration('drain')
  return {
    place: place.label,
    logger,
    tokens: tokensOf(call),
    alerts: alertsOf(call),
    ...tlsOf(call),
    ...(hosts === undefined ? {} : { hosts: hosts.includes('*') ? '*' : hosts }),
    ...(environment === undefined ? {} : { environment }),
    ...(traceUrl === undefined ? {} : { traceUrl }),
    ...(proxies === undefined ? {} : { proxies }),
    ...(drain === undefined ? {} : { closeTimeout: drain }),
    ...(args.on('read-only') ? { readOnly: true } : {}),
    ...(args.on('plain-http') ? { plainHttp: true } : {}),
    ...(args.on('insecure') ? { insecure: true } : {}),
  }
}

const RETRY_MS = 2_000

/** The port is open and responds 503 meanwhile; the reason is reported once, and the recovery. */
async function tellWhenReady(call: Call, { skep, place }: Opened, stop: AbortSignal): Promise<void> {
  let isTold = false
  while (!stop.aborted) {
    try {
      await skep.ready()
      if (isTold) say(call, `${place.label} answers.`)
      return
    } catch (error) {
      const report = explain(error, place.label)
      if (!isTold && !stop.aborted) {
        complain(report, call.out)
        say(call, isAway(report) ? 'Retrying until it is available.' : 'Retrying until the tables exist.')
      }
      isTold = true
      await Promise.race([new Promise((resolve) => setTimeout(resolve, RETRY_MS)), aborted(stop)])
    }
  }
}

function say({ out }: Call, text: string): void {
  out.note(`${clock(Date.now())} ${text}`)
}

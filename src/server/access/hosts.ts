/**
 * Which names the server answers to. A page may give its own name the address of your machine (DNS rebinding); its requests then look as
 * if they came from you, but the `Host` header still has that page's name.
 */
import { SkepError, showValue } from '../../index.ts'
import { bare, hostOf, isEveryHost, isLiteral, isLoopbackHost } from './address.ts'

export interface HostRules {
  /** What the server listens on; null: it is mounted in another one, which has its own idea of names. */
  readonly listens: string | null
  /** Names that are accepted besides, in which `*.` at the beginning stands for any; `'*'`: all. */
  readonly hosts: readonly string[] | '*'
  /** The name of this machine. */
  readonly machine: string
}

/** Throws `FORBIDDEN` if a request asks for a host that is not this one. */
export function refuseHost(header: string | null, rules: HostRules): void {
  if (rules.hosts === '*') return
  const host = hostOf(header)
  if (host !== null && isOurs(host, rules.hosts, rules)) return
  throw new SkepError(
    'FORBIDDEN',
    `This server does not answer to the host ${showValue(header)}. If that is its name, add it to the option hosts.`,
  )
}

function isOurs(host: string, hosts: readonly string[], { listens, machine }: HostRules): boolean {
  if (isLoopbackHost(host) || hosts.some((name) => isNamed(host, bare(name)))) return true
  if (listens === null) return false
  if (host === bare(listens)) return true
  // Who listens everywhere is asked for by address, or by the machine's name. No page can have an address as its name.
  return isEveryHost(listens) && (isLiteral(host) || host === bare(machine))
}

function isNamed(host: string, name: string): boolean {
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) && host.length > name.length - 1 : host === name
}

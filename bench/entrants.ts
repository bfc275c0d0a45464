import { readFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { fetchNode, nodeVersions } from '../scripts/fetch-node.mjs'
import type { Contestant } from './contest.ts'
import type { Entrant, Machine } from './result.ts'
import { root } from './root.ts'

/** What is printed about a contestant. */
export function entrant(contestant: Contestant): Entrant {
  const { name, kind, store, settings, node } = contestant
  return {
    name,
    kind,
    store,
    settings,
    version: versionOf(contestant),
    node: node === undefined ? process.versions.node : nodeVersion(node),
  }
}

/** The program that runs a contestant's processes, fetched if it is not there yet. */
export async function nodeOf({ node }: Contestant): Promise<string> {
  return node === undefined || Number.parseInt(process.versions.node, 10) >= node
    ? process.execPath
    : fetchNode(nodeVersion(node))
}

export function machine(servers: readonly string[]): Machine {
  return {
    node: process.versions.node,
    cpus: cpus().length,
    model: cpus()[0]?.model.trim() ?? 'unknown',
    os: [`${systemName()}, ${process.platform} ${release()}`, ...servers].join('; '),
  }
}

function nodeVersion(major: number): string {
  if (Number.parseInt(process.versions.node, 10) >= major) return process.versions.node
  const version = nodeVersions[major]
  if (version === undefined) throw new Error(`Which Node ${major}? scripts/fetch-node.mjs does not know one.`)
  return version
}

function versionOf({ kind, package: name }: Contestant): string | null {
  if (kind === 'skep') return packageVersion(root)
  if (name === undefined) return null
  // The raw databases go through the driver that Skep uses, not through a rival's.
  return packageVersion(join(root, kind === 'raw' ? '' : 'bench/rivals', 'node_modules', name))
}

function packageVersion(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return version
}

function systemName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown'
  } catch {
    return process.platform
  }
}

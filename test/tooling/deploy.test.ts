// What is in deploy/ is never started here, so what it says is compared with what there is: flags, commands, values, times.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { variableOf } from '../../src/cli/arguments.ts'
import { GLOBAL_FLAGS } from '../../src/cli/command.ts'
import { migrateCommand } from '../../src/cli/commands/project/migrate.ts'
import { serverCommand } from '../../src/cli/commands/server.ts'
import { workerCommand } from '../../src/cli/commands/worker.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
  .map((name) => join('deploy', name))
  .filter((path) => statSync(join(root, path)).isFile())
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const isTemplate = (path: string): boolean => path.includes('templates')
const templates = files.filter(isTemplate)
/** Longer than a worker drains, saves its outcomes and signs off. */
const LEAST_STOP_SECONDS = 35

describe('deploy', () => {
  it('has YAML that can be read', () => {
    const yaml = files.filter((path) => /\.ya?ml$/.test(path) && !isTemplate(path))

    // Biome reads YAML, and is there anyway.
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(root, 'node_modules/@biomejs/biome/bin/biome'), 'lint', ...yaml],
      { cwd: root, encoding: 'utf8' },
    )

    expect(yaml.length).toBeGreaterThan(3)
    expect([status, stderr]).toEqual([0, expect.stringContaining(`Checked ${yaml.length} files`)])
  })

  it('sets no variable that is not a flag of the server, a worker or a migration', () => {
    const flags = [GLOBAL_FLAGS, serverCommand.flags, workerCommand.flags, migrateCommand.flags]
    const known = new Set(flags.flatMap((one) => Object.keys(one)).map(variableOf))
    const named = files.flatMap((path) =>
      // What a build is told is not told to the command.
      [
        ...read(path)
          .replace(/^ARG .*|\$\{SKEP_VERSION\}/gm, '')
          .matchAll(/\bSKEP_[A-Z_]+/g),
      ].map(([name]) => name),
    )

    expect(named).toContain('SKEP_DB')
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })

  it('starts no command that there is not', () => {
    const commands = [serverCommand, workerCommand, migrateCommand].map(({ name }) => name)
    const started = files.flatMap((path) =>
      [
        ...read(path).matchAll(/cli\/main\.js (\w+)/g),
        ...read(path).matchAll(/^(?: *(?:args|command):|CMD) *\[(?:"?npx"?, *"?skep"?, *)?"?([a-z]+)"?/gm),
      ].map(([, name]) => name as string),
    )

    expect(new Set(started)).toEqual(new Set(commands))
  })

  it('uses only values that have a default', () => {
    const values = read('deploy/helm/skep/values.yaml')
    const used = templates.flatMap((path) => [...read(path).matchAll(/\.Values\.([\w.]+)/g)])
    const words = used.flatMap(([, path]) => (path as string).split('.'))

    expect(words.length).toBeGreaterThan(10)
    expect(words.filter((word) => !new RegExp(`(^|[ {,])${word}:`, 'm').test(values))).toEqual([])
  })

  it('opens and closes every block of its templates', () => {
    for (const path of templates) {
      const text = read(path)
      const opened = text.match(/\{\{-? (?:if|range|with) /g)?.length ?? 0
      expect([path, text.match(/\{\{-? end /g)?.length ?? 0]).toEqual([path, opened])
    }
  })

  it('tells the pods of two releases apart', () => {
    const labels = templates.flatMap((path) => read(path).match(/\{ app\.kubernetes\.io\/name: .*/g) ?? [])

    expect(labels.length).toBeGreaterThan(6)
    expect(labels.filter((one) => !one.includes('instance: {{ .Release.Name }}'))).toEqual([])
  })

  it('answers to the names by which it is asked for inside', () => {
    expect(read('deploy/compose/compose.yaml')).toMatch(/^ {2}server:[\s\S]*SKEP_HOSTS: localhost,server$/m)
    expect(read('deploy/helm/skep/templates/server.yaml')).toMatch(/SKEP_HOSTS[\s\S]*%s-server,.*\.svc/)
  })

  it('leaves a worker and a server the time to stop', () => {
    const times = files.flatMap((path) =>
      [
        ...read(path).matchAll(
          /(?:TimeoutStopSec=|stop_grace_period: |terminationGracePeriodSeconds: )(\d+)/g,
        ),
      ].map(([, seconds]) => Number(seconds)),
    )

    expect(times.length).toBeGreaterThanOrEqual(6)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(LEAST_STOP_SECONDS)
  })
})

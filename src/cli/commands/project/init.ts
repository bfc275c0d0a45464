import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { confirm } from '../../change/confirm.ts'
import type { Call, Command } from '../../command.ts'
import { findConfig } from '../../connect/config-file.ts'
import { EXIT, usage } from '../../exit.ts'
import { briefly } from '../../explain-error.ts'
import { quote } from '../../format/text.ts'
import { type Draft, draftsFor, mountText, newManifest, scriptsFor, withScripts } from '../../init/files.ts'
import { DRIVERS, FRAMEWORKS, lookAt, type PackageManager, type Project } from '../../init/project.ts'
import type { Output } from '../../output.ts'

export const initCommand: Command = {
  name: 'init',
  summary: 'Set up this folder: shows and writes jobs.ts and skep.config.ts',
  asksNoServer: true,
  usage: ['init [flags]'],
  flags: { 'dry-run': { kind: 'switch', help: 'Dry run: print the files without writing them' } },
  examples: ['skep init', 'skep init --dry-run', 'skep init --yes'],

  async run(call) {
    const { args, out, cwd } = call
    const [word] = args.words
    if (word !== undefined) throw usage(`${quote(word)} is an unexpected argument.`, 'skep init [flags]')
    const project = lookAt(cwd)
    const plan = planFor(project)
    if (!out.json) show(out, project, plan)
    if (args.on('dry-run')) return tell(call, project, plan, false)
    if (plan.files.length > 0) {
      await confirm(call, `Write ${plan.files.map(({ name }) => name).join(', ')}?`)
      for (const file of plan.files) write(project, file)
    }
    return tell(call, project, plan, true)
  },
}

interface Plan {
  readonly files: readonly (Draft & { readonly isNew: boolean })[]
  /** What is there already, and stays as it is. */
  readonly kept: readonly string[]
  readonly install: readonly string[]
}

function planFor(project: Project): Plan {
  const { folder, manifest } = project
  const kept: string[] = []
  const files: Plan['files'][number][] = []
  const hasConfig = findConfig(folder)?.startsWith(folder) === true
  for (const draft of draftsFor(project)) {
    const isThere =
      existsSync(join(folder, draft.name)) || (hasConfig && draft.name.startsWith('skep.config'))
    if (isThere) kept.push(draft.name)
    else files.push({ ...draft, isNew: true })
  }
  const scripts = scriptsFor(project)
  if (manifest === null) files.push({ name: 'package.json', text: newManifest(scripts), isNew: true })
  else if (Object.keys(scripts).length > 0) {
    files.push({ name: 'package.json', text: withScripts(manifest, scripts), isNew: false })
  }
  return { files, kept, install: installs(project) }
}

/** The commands that bring what is missing, for this Node. */
function installs(project: Project): readonly string[] {
  const { packages, packageManager, driver, isTypeScript } = project
  const { typescript, sqlite } = abilities()
  const kind = driver === null ? 'sqlite' : DRIVERS[driver][1]
  const needs = [
    ...(packages.has('skep') ? [] : ['skep']),
    ...(kind === 'postgres' && !packages.has('pg') ? ['pg'] : []),
    ...(sqlite || packages.has('@photostructure/sqlite') ? [] : ['@photostructure/sqlite@1']),
  ]
  const tools = isTypeScript && !typescript && !packages.has('jiti') ? ['jiti'] : []
  const add: Readonly<Record<PackageManager, string>> = {
    npm: 'npm install',
    pnpm: 'pnpm add',
    yarn: 'yarn add',
    bun: 'bun add',
  }
  return [
    ...(needs.length === 0 ? [] : [`${add[packageManager]} ${needs.join(' ')}`]),
    ...(tools.length === 0 ? [] : [`${add[packageManager]} -D ${tools.join(' ')}`]),
  ]
}

/** What this Node can do by itself. */
function abilities(): { readonly typescript: boolean; readonly sqlite: boolean } {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const from = (least: number, point: number): boolean => major > least || (major === least && minor >= point)
  return { typescript: from(22, 18), sqlite: from(22, 13) }
}

function show(out: Output, project: Project, { files, kept }: Plan): void {
  const { framework, driver, packageManager, isTypeScript } = project
  const facts = [
    packageManager,
    isTypeScript ? 'TypeScript' : 'JavaScript',
    ...(framework === null ? [] : [FRAMEWORKS[framework]]),
    ...(driver === null ? ['SQLite in a file'] : [DRIVERS[driver][0]]),
  ]
  out.note(`${out.paintNote('dim', 'Found')} ${facts.join(', ')}`)
  for (const name of kept) out.note(`${out.paintNote('dim', 'Kept')}  ${name}: exists`)
  for (const { name, text, isNew } of files) {
    out.note(`\n${out.paintNote('bold', name)} ${out.paintNote('dim', isNew ? '(new)' : '(scripts added)')}`)
    const shown = isNew ? text : addedLines(project.manifest ?? '', text)
    for (const line of shown.trimEnd().split('\n')) out.note(out.paintNote('green', `  + ${line}`))
  }
  if (files.length > 0) out.note('')
}

function addedLines(before: string, after: string): string {
  const known = new Set(before.split('\n').map((line) => line.replace(/,$/, '')))
  return after
    .split('\n')
    .filter((line) => !known.has(line.replace(/,$/, '')))
    .join('\n')
}

function write({ folder }: Project, { name, text, isNew }: Plan['files'][number]): void {
  try {
    // A file that was created meanwhile is kept.
    writeFileSync(join(folder, name), text, { flag: isNew ? 'wx' : 'w' })
  } catch (error) {
    throw usage(`${name} cannot be written: ${briefly(error)}`)
  }
}

function tell({ out }: Call, project: Project, { files, kept, install }: Plan, isDone: boolean): number {
  const names = files.map(({ name }) => name)
  const next = [...install, 'npx skep dev']
  const { framework } = project
  if (out.json) {
    const mount = framework === null ? null : mountText(framework)
    out.object({ dryRun: !isDone, written: names, kept, next, mount })
    return EXIT.ok
  }
  if (isDone) out.data(names.length === 0 ? 'Everything exists already.' : `Wrote ${names.join(', ')}.`)
  const hints = [
    `\nNext:\n${next.map((line) => `  ${out.paintNote('cyan', line)}`).join('\n')}`,
    ...(framework === null
      ? []
      : [`\nThe dashboard in your ${FRAMEWORKS[framework]} app:\n${indent(mountText(framework))}`]),
    ...(needsExtensions(project)
      ? [
          `\nIn tsconfig.json set "allowImportingTsExtensions": true: Node wants the ending of a file in imports.`,
        ]
      : []),
  ]
  out.note(hints.join('\n'))
  return EXIT.ok
}

function needsExtensions({ folder, isTypeScript }: Project): boolean {
  const path = join(folder, 'tsconfig.json')
  if (!isTypeScript || !existsSync(path)) return false
  return !/allowImportingTsExtensions|rewriteRelativeImportExtensions/.test(readFileSync(path, 'utf8'))
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')
}

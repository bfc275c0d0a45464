// Holds the lines that the folders draw (see CONTRIBUTING.md):
//
//   time and chance   come from src/runtime/runtime.ts alone, so that a test can own them. A line may be excused by a
//                     comment at its end: `// boundary: <reason>`.
//   layers            a file imports what its layer may know, and never another adapter.
//   generated code    eval and new Function do not occur.
//   import.meta       is for src/cli alone, because the CommonJS build does not have it.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** @typedef {{ path: string, line: number, column: number, message: string }} Finding */

// ---- Layers ----

/** The files users import. Each hides the folders behind it. */
const entries = ['index', 'memory', 'sqlite', 'postgres', 'redis', 'nats', 'otel', 'testing', 'server']

/** Common pieces of several adapters; they are not adapters themselves. */
const sharedFolders = ['shared']

/**
 * What each layer may import besides its own folder.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const allowed = {
  core: [],
  contract: ['core', 'runtime'],
  runtime: ['core'],
  shared: ['core', 'contract', 'runtime', 'shared'],
  adapter: ['core', 'contract', 'runtime', 'shared'],
  metrics: ['core', 'contract', 'runtime'],
  flows: ['core', 'contract', 'runtime'],
  maintenance: ['core', 'contract', 'runtime', 'flows'],
  worker: ['core', 'contract', 'runtime', 'maintenance', 'metrics'],
  client: ['core', 'contract', 'runtime', 'metrics', 'worker', 'maintenance', 'flows', 'notifiers/local'],
  testing: ['core', 'contract', 'runtime', 'client', 'worker', 'stores/memory'],
  operations: ['entry'],
  server: ['entry', 'operations'],
  cli: ['entry', 'operations'],
}

/**
 * @param {string} path From the repository's root, with forward slashes.
 * @returns {{ layer: string, folder: string } | undefined} `folder` is the unit inside which all may see each other.
 */
function place(path) {
  const [, first = '', second = ''] = path.split('/')
  if (first === 'store' || first === 'notifier') return { layer: 'contract', folder: 'the contracts' }
  if (first.endsWith('.ts')) {
    return entries.includes(first.slice(0, -3)) ? { layer: 'entry', folder: path } : undefined
  }
  if (first === 'stores' || first === 'notifiers') {
    if (second === '' || second.endsWith('.ts')) return undefined
    const isShared = sharedFolders.includes(second)
    return { layer: isShared ? 'shared' : 'adapter', folder: `${first}/${second}` }
  }
  return first in allowed ? { layer: first, folder: first } : undefined
}

/**
 * @param {string} from
 * @param {string} to
 * @returns {string | undefined} What is wrong with this import, if anything.
 */
function layerFault(from, to) {
  if (!to.startsWith('src/')) return 'the sources import nothing outside src'
  const source = place(from)
  const target = place(to)
  if (!source) return undefined // Reported once for the file itself.
  if (!target) return `"${to}" belongs to no layer`
  if (source.folder === target.folder) return undefined
  if (source.layer === 'entry') return entryFault(from, target)
  const may = allowed[source.layer] ?? []
  if (may.includes(target.layer) || may.includes(target.folder)) return undefined
  const list = may.length === 0 ? 'only itself' : `only itself and ${may.join(', ')}`
  return `${source.folder} may not import ${target.folder}: it sees ${list}`
}

/**
 * @param {string} from
 * @param {{ layer: string, folder: string }} target
 */
function entryFault(from, { layer, folder }) {
  const ownFolder = from.slice('src/'.length, -'.ts'.length)
  if (layer === 'cli') return 'the library may not import the command line'
  if ((layer === 'testing' || layer === 'server') && folder !== ownFolder) {
    return `only src/${folder}.ts may import ${folder}`
  }
  return undefined
}

// ---- Time and chance ----

const fromRuntime = 'take it from the runtime, so that a test can own it'

const bannedMembers = new Set([
  'Date.now',
  'performance.now',
  'Math.random',
  'process.hrtime',
  'AbortSignal.timeout',
  'crypto.randomUUID',
  'crypto.randomBytes',
  'crypto.randomInt',
  'crypto.getRandomValues',
])

const bannedGlobals = new Set(['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'])

/** @type {Readonly<Record<string, readonly string[] | 'all'>>} */
const bannedImports = {
  crypto: ['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues', 'webcrypto'],
  timers: 'all',
  'timers/promises': 'all',
  perf_hooks: 'all',
}

/** @param {string} path */
function ownsTimeAndChance(path) {
  return path === 'src/runtime/runtime.ts' || path.startsWith('src/cli/')
}

// ---- One file ----

/**
 * @param {string} path From the repository's root, with forward slashes.
 * @param {string} text
 * @returns {Finding[]}
 */
export function checkFile(path, text) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const lines = text.split('\n')
  /** @type {Finding[]} */
  const findings = []

  /** @param {import('typescript').Node} node @param {string} message */
  const report = (node, message) => {
    const { line, character } = file.getLineAndCharacterOfPosition(node.getStart(file))
    findings.push({ path, line: line + 1, column: character + 1, message })
  }

  /** @param {import('typescript').Node} node @param {string} what */
  const reportSource = (node, what) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
    const isExcused = /\/\/ boundary: \S/.test(lines[line] ?? '')
    if (!ownsTimeAndChance(path) && !isExcused) report(node, `${what}: ${fromRuntime}`)
  }

  if (!place(path)) {
    findings.push({
      path,
      line: 1,
      column: 1,
      message: 'this file belongs to no layer (scripts/boundaries.mjs)',
    })
  }

  /** @param {import('typescript').Node} node */
  const visit = (node) => {
    const specifier = moduleSpecifier(node)
    if (specifier) {
      if (specifier.text.startsWith('.')) {
        const fault = layerFault(path, posix.join(posix.dirname(path), specifier.text))
        if (fault) report(specifier, fault)
      }
      for (const what of bannedBindings(node, specifier.text)) reportSource(specifier, what)
    }

    const member = memberName(node)
    if (member && bannedMembers.has(member)) reportSource(node, member)
    if (member && /^globalThis\.(set(Timeout|Interval|Immediate)|queueMicrotask)$/.test(member)) {
      reportSource(node, member)
    }
    if (ts.isIdentifier(node) && bannedGlobals.has(node.text) && isValue(node)) reportSource(node, node.text)
    if (readsClock(node)) reportSource(node, 'the present time')

    if (makesCode(node)) report(node, 'code is never made from text')
    if (
      ts.isMetaProperty(node) &&
      node.keywordToken === ts.SyntaxKind.ImportKeyword &&
      !path.startsWith('src/cli/')
    ) {
      report(node, 'import.meta does not exist in the CommonJS build')
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return findings
}

/**
 * The text after `from`, or inside `import(…)` and `require(…)`.
 *
 * @param {import('typescript').Node} node
 * @returns {import('typescript').StringLiteralLike | undefined}
 */
function moduleSpecifier(node) {
  /** @type {import('typescript').Node | undefined} */
  let specifier
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) specifier = node.moduleSpecifier
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) specifier = node.argument.literal
  else if (ts.isCallExpression(node)) {
    const isRequire = ts.isIdentifier(node.expression) && node.expression.text === 'require'
    if (isRequire || node.expression.kind === ts.SyntaxKind.ImportKeyword) specifier = node.arguments[0]
  }
  return specifier && ts.isStringLiteralLike(specifier) ? specifier : undefined
}

/**
 * @param {import('typescript').Node} node
 * @param {string} specifier
 * @returns {string[]}
 */
function bannedBindings(node, specifier) {
  const banned = bannedImports[specifier.replace(/^node:/, '')]
  if (banned === undefined || isTypeOnly(node)) return []
  if (banned === 'all') return [specifier]
  if (!ts.isImportDeclaration(node)) return []
  const bindings = node.importClause?.namedBindings
  if (!bindings || !ts.isNamedImports(bindings)) return [] // `crypto.randomUUID` is seen where it is used.
  const names = bindings.elements.filter((element) => !element.isTypeOnly)
  return names
    .map((element) => (element.propertyName ?? element.name).text)
    .filter((name) => banned.includes(name))
}

/** @param {import('typescript').Node} node */
function isTypeOnly(node) {
  if (ts.isImportTypeNode(node)) return true
  if (ts.isImportDeclaration(node)) return node.importClause?.isTypeOnly ?? false
  return ts.isExportDeclaration(node) && node.isTypeOnly
}

/**
 * `Date.now` for `Date.now`, `Date['now']` and `globalThis.Date.now`.
 *
 * @param {import('typescript').Node} node
 * @returns {string | undefined}
 */
function memberName(node) {
  let name
  if (ts.isPropertyAccessExpression(node)) name = node.name.text
  else if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    name = node.argumentExpression.text
  } else return undefined
  const owner = node.expression
  if (ts.isIdentifier(owner)) return `${owner.text}.${name}`
  const outer = memberName(owner)
  return outer?.startsWith('globalThis.') ? `${outer.slice('globalThis.'.length)}.${name}` : undefined
}

/**
 * Whether a name stands for the global function here, not for a member, a key or a type of that name.
 *
 * @param {import('typescript').Identifier} node
 */
function isValue(node) {
  const parent = node.parent
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node
  if (ts.isTypeQueryNode(parent)) return false
  if (ts.isTypeElement(parent) || ts.isClassElement(parent) || ts.isMethodDeclaration(parent)) {
    return 'initializer' in parent && parent.initializer === node
  }
  if (ts.isBindingElement(parent) || ts.isParameter(parent) || ts.isVariableDeclaration(parent)) {
    return parent.initializer === node
  }
  return !ts.isImportSpecifier(parent) && !ts.isExportSpecifier(parent)
}

/** @param {import('typescript').Node} node */
function readsClock(node) {
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return false
  const isDate = ts.isIdentifier(node.expression) && node.expression.text === 'Date'
  return isDate && (ts.isCallExpression(node) || (node.arguments?.length ?? 0) === 0)
}

/** @param {import('typescript').Node} node */
function makesCode(node) {
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return false
  const name = ts.isIdentifier(node.expression) ? node.expression.text : memberName(node.expression)
  return ['eval', 'Function', 'globalThis.eval', 'globalThis.Function'].includes(name ?? '')
}

// ---- All files ----

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  const findings = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .sort()
    .flatMap((path) => checkFile(path, readFileSync(join(root, path), 'utf8')))
  for (const { path, line, column, message } of findings)
    console.error(`${path}:${line}:${column} ${message}`)
  if (findings.length > 0) {
    console.error(`\n${findings.length} boundary ${findings.length === 1 ? 'fault' : 'faults'}.`)
    process.exit(1)
  }
}

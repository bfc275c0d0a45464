// Checks the package as a user gets it: packs it, looks at what is inside, lets publint and attw judge it, installs it into an
// empty folder without any optional package, and there imports, requires and type checks every sub-path, starts a thread and
// a server, and runs the command.

import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix, relative } from 'node:path'
import { root, run, runNode, runNpm, tools } from './run.mjs'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const names = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => `${manifest.name}${path.slice(1)}`)

/** The largest package, unpacked, in bytes. */
const MOST_BYTES = 8_000_000

const folder = mkdtempSync(join(tmpdir(), 'skep-exports-'))
let failed = false
try {
  await checkPackage()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)

async function checkPackage() {
  if (!(await check('build', () => runNode(['scripts/build.mjs', '--if-outdated'])))) return
  const pack = ['pack', '--pack-destination', folder, '--loglevel=error']
  if (!(await check('pack', () => runNpm(pack, { quiet: true })))) return
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '')
  await check('publint', () => runNode([tools.publint, 'run', tarball, '--strict'], { quiet: true }))
  await check('attw', () =>
    runNode([tools.attw, tarball, '--format', 'table-flipped', '--no-color'], { quiet: true }),
  )

  const consumer = join(folder, 'consumer')
  writeConsumer(consumer)
  if (!(await check('install', () => install(consumer, tarball)))) return
  await check('no optional package comes along', () => noClients(consumer))
  const installed = join(consumer, 'node_modules', manifest.name)
  await check('fields', () => report(faultsOfFields()))
  await check('files', () => report(faultsOfFiles(installed)))
  await check('links', () => report(faultsOfLinks(installed)))
  lend(consumer, '@opentelemetry/api')
  await check('import every sub-path', () => runNode(['import.mjs'], { cwd: consumer, quiet: true }))
  await check('require every sub-path', () => runNode(['require.cjs'], { cwd: consumer, quiet: true }))
  for (const name of ['threads.mjs', 'threads.cjs']) {
    await check(`a thread in ${name}`, () => runNode([name], { cwd: consumer, quiet: true }))
  }
  for (const name of ['server.mjs', 'server.cjs']) {
    await check(`a server without gRPC in ${name}`, () => runNode([name], { cwd: consumer, quiet: true }))
  }
  // Node's own types alone: with all of ours in reach, a client's types would be found here but not at a user's.
  mkdirSync(join(consumer, 'node_modules/@types'))
  symlinkSync(join(root, 'node_modules/@types/node'), join(consumer, 'node_modules/@types/node'), 'dir')
  await check('types', () => runNode([tools.tsc, '-p', '.'], { cwd: consumer, quiet: true }))
  await check('the command', () => runBin(consumer))
}

/**
 * @param {string} name
 * @param {() => number | Promise<number>} action Gives an exit code.
 */
async function check(name, action) {
  const code = await action()
  console.log(`${code === 0 ? '✓' : '✗'} exports: ${name}`)
  if (code !== 0) failed = true
  return code === 0
}

/**
 * @param {string} consumer
 * @param {string} tarball
 */
function install(consumer, tarball) {
  const options = ['--ignore-scripts', '--omit=peer', '--no-audit', '--no-fund', '--loglevel=error']
  return runNpm(['install', tarball, ...options], { cwd: consumer, quiet: true })
}

/** @param {readonly string[]} faults */
function report(faults) {
  for (const fault of faults) console.error(`  ${fault}`)
  return faults.length === 0 ? 0 : 1
}

/** What a registry shows, and the ranges of packages that others install. */
function faultsOfFields() {
  const {
    repository,
    homepage,
    bugs,
    dependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = manifest
  const home = /^git\+(https:\/\/.+)\.git$/.exec(repository?.url ?? '')?.[1]
  const faults = []
  if (home === undefined) faults.push('"repository" must be a git+https address that ends in .git.')
  if (home !== undefined && homepage !== `${home}#readme`) faults.push(`"homepage" must be ${home}#readme.`)
  if (home !== undefined && bugs !== `${home}/issues`) faults.push(`"bugs" must be ${home}/issues.`)
  if (Object.keys(dependencies).join() !== 'croner') faults.push('The only dependency must be croner.')
  for (const [name, range] of Object.entries(peerDependencies)) {
    if (peerDependenciesMeta[name]?.optional !== true) faults.push(`The peer "${name}" must be optional.`)
    // ">=5" also takes a major version that does not exist yet.
    const parts = String(range).split(' || ')
    if (!parts.every((part) => /^\^\d+\.\d+\.\d+$/.test(part))) {
      faults.push(`The range of "${name}" must be made of ^x.y.z, but is "${range}".`)
    }
  }
  return faults
}

/**
 * The size of the package, and what has no place in it.
 *
 * @param {string} installed
 */
function faultsOfFiles(installed) {
  const files = filesOf(installed)
  const bytes = files.reduce((sum, path) => sum + statSync(join(installed, path)).size, 0)
  const faults = files
    .filter((path) => path.endsWith('.map') || /^(?:src|test|node_modules)\//.test(path))
    .map((path) => `${path} has no place in the package.`)
  if (bytes > MOST_BYTES) faults.push(`It has ${bytes} bytes unpacked; at most ${MOST_BYTES} are allowed.`)
  for (const path of ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs/getting-started.md', 'docs/errors.md']) {
    if (!files.includes(path)) faults.push(`${path} is missing.`)
  }
  console.log(`  ${files.length} files, ${(bytes / 1e6).toFixed(2)} MB unpacked`)
  return faults
}

/**
 * Relative links that lead to files which are not in the package. Headings are checked by test/docs/links.test.ts.
 *
 * @param {string} installed
 */
function faultsOfLinks(installed) {
  const files = new Set(filesOf(installed))
  return [...files]
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      [...readFileSync(join(installed, path), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^(?:https?:|mailto:|#)/.test(link))
        .filter((link) => !files.has(posix.join(posix.dirname(path), link.split('#')[0] ?? '')))
        .map((link) => `${path} links to ${link}, which is not in the package. Use an absolute link.`),
    )
}

/**
 * @param {string} place
 * @returns {string[]} Paths from there, with slashes.
 */
function filesOf(place) {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(place, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

/** @param {string} consumer */
function noClients(consumer) {
  const clients = Object.keys(manifest.peerDependencies ?? {})
  const lock = JSON.parse(readFileSync(join(consumer, 'package-lock.json'), 'utf8'))
  const installed = clients.filter((name) => `node_modules/${name}` in lock.packages)
  for (const name of installed) console.error(`"${name}" came along, but it is an optional package.`)
  return installed.length === 0 ? 0 : 1
}

/**
 * What an entry is nothing without: whoever imports it has it.
 *
 * @param {string} consumer
 * @param {string} name
 */
function lend(consumer, name) {
  const place = join(consumer, 'node_modules', name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), place, 'dir')
}

/** @param {string} consumer */
function runBin(consumer) {
  const bin = join(consumer, 'node_modules/.bin', Object.keys(manifest.bin)[0] ?? '')
  accessSync(bin, constants.X_OK)
  return run(bin, ['--help'], { cwd: consumer, quiet: true })
}

/** @param {string} consumer */
function writeConsumer(consumer) {
  mkdirSync(consumer)
  /** @param {string} name @param {string} text */
  const write = (name, text) => writeFileSync(join(consumer, name), text)

  write('package.json', JSON.stringify({ name: 'consumer', private: true }))
  // Both builds must offer the same names, or a program changes its meaning with its module system.
  write(
    'import.mjs',
    `import { createRequire } from 'node:module'
     const require = createRequire(import.meta.url)
     for (const name of ${JSON.stringify(names)}) {
       const imported = Object.keys(await import(name)).filter((key) => key !== 'default' && key !== 'module.exports')
       const required = Object.keys(require(name)).filter((key) => key !== '__esModule' && key !== 'default')
       if (imported.sort().join() !== required.sort().join()) {
         throw new Error(name + ' differs: import gives ' + imported + '; require gives ' + required)
       }
     }`,
  )
  // A handler in a thread: of each build it must be the same one that runs there.
  const thread = `
     const { createSkep, inThread, queue, threadHandler } = skep
     const double = queue('double')
     threadHandler(double, ({ payload }) => (inThread() ? payload * 2 : 'not in a thread'))
     const main = async () => {
       const app = createSkep({ store: memory.memoryStore() })
       app.worker([double.handleInThreads(file, { threads: 1 })])
       const result = await (await app.enqueue(double, 21)).result()
       await app.close()
       if (result !== 42) throw new Error('the thread answered ' + result)
     }
     if (!inThread()) main()`
  write(
    'threads.mjs',
    `import * as skep from '${manifest.name}'
     import * as memory from '${manifest.name}/memory'
     const file = new URL(import.meta.url)${thread}`,
  )
  write(
    'threads.cjs',
    `const skep = require('${manifest.name}')
     const memory = require('${manifest.name}/memory')
     const file = __filename${thread}`,
  )
  // gRPC needs packages that are not here: without being asked for it is off, and asked for it says what to install.
  const server = `
     const { createServer } = server
     const main = async () => {
       const warned = []
       const logger = { debug() {}, info() {}, warn: (text) => warned.push(text), error() {} }
       const plain = createServer({ store: memory.memoryStore() }, { logger })
       const at = await plain.listen({ port: 0 })
       const health = await fetch(at.url + '/healthz')
       await plain.close()
       const strict = createServer({ store: memory.memoryStore() }, { logger, grpc: true })
       const refused = await strict.listen({ port: 0 }).then(() => 'nothing', (error) => error.code)
       await strict.close()
       const seen = [at.grpc, health.status, warned.length, refused].join()
       if (seen !== 'false,200,1,CLIENT_MISSING') throw new Error('without gRPC: ' + seen + ' ' + warned)
     }
     main()`
  write(
    'server.mjs',
    `import * as server from '${manifest.name}/server'
     import * as memory from '${manifest.name}/memory'${server}`,
  )
  write(
    'server.cjs',
    `const server = require('${manifest.name}/server')
     const memory = require('${manifest.name}/memory')${server}`,
  )
  write('require.cjs', names.map((name) => `require('${name}')\n`).join(''))
  write(
    'module.mts',
    `${names.map((name, i) => `import * as m${i} from '${name}'\n`).join('')}
    export const all: unknown[] = [${names.map((_, i) => `m${i}`).join()}]\n`,
  )
  write(
    'common.cts',
    `${names.map((name, i) => `import m${i} = require('${name}')\n`).join('')}
    export const all: unknown[] = [${names.map((_, i) => `m${i}`).join()}]\n`,
  )
  write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        target: 'ES2022',
        module: 'NodeNext',
        // Our declarations are read in full: one that names a client's types would break users without it.
        skipLibCheck: false,
        types: ['node'],
      },
      include: ['*.mts', '*.cts'],
    }),
  )
}

// node scripts/lock-platforms.mjs [folder]
// Adds to package-lock.json, the root's or that of the folder, the programs for other platforms that npm left out. npm
// drops an optional package that its registry does not offer at that moment, and then `npm ci` refuses the lock file
// everywhere. The version is known from the package that asks for it; the platform stands in the name.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.mjs'

const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const processors = [
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'wasm32',
  'x64',
]

const path = join(root, process.argv[2] ?? '', 'package-lock.json')
const lock = JSON.parse(readFileSync(path, 'utf8'))
const added = []

for (const [owner, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (isLocked(owner, name)) continue
    lock.packages[`node_modules/${name}`] = {
      version,
      ...(dev ? { dev } : {}),
      optional: true,
      ...platform(name),
    }
    added.push(`${name}@${version}`)
  }
}

if (added.length > 0) {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(path, `${JSON.stringify(lock, undefined, 2)}\n`)
}
console.log(added.length > 0 ? `Added:\n${added.join('\n')}` : 'Nothing was missing.')

/** @param {string} owner @param {string} name */
function isLocked(owner, name) {
  for (let folder = owner; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in lock.packages) return true
    if (folder === '') return false
  }
}

/** @param {string} name */
function platform(name) {
  const words = name.split(/[/-]/)
  const os = words.filter((word) => systems.includes(word))
  const cpu = words.filter((word) => processors.includes(word))
  if (cpu.length === 0) throw new Error(`Cannot tell the platform of ${name} from its name.`)
  const libc = words.flatMap((word) => {
    if (word.startsWith('musl')) return ['musl']
    return word.startsWith('gnu') ? ['glibc'] : []
  })
  return { ...(os.length > 0 ? { os } : {}), cpu, ...(libc.length > 0 ? { libc } : {}) }
}

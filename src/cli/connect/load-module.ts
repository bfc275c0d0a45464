import { createRequire } from 'node:module'
import { extname, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError, EXIT } from '../exit.ts'
import { clean } from '../format/text.ts'
import { withoutMarks } from '../reload/marks.ts'
import { invalid } from './config-file.ts'

interface Jiti {
  import(id: string): Promise<object>
}

interface JitiModule {
  createJiti(id: string, options?: { readonly fsCache?: boolean; readonly tsconfigPaths?: boolean }): Jiti
}

/**
 * Loads a module of the user's, in TypeScript or JavaScript: by Node itself where it can, else by jiti, if the
 * user's project or ours has it. `shown` is how errors call the file, and `address` what Node imports.
 */
export async function loadModule(
  path: string,
  shown: string,
  address: string = pathToFileURL(path).href,
): Promise<object> {
  const isTypeScript = ['.ts', '.mts', '.cts', '.tsx'].includes(extname(path))
  let refusal: unknown
  if (!isTypeScript || hasTypeScript()) {
    try {
      return (await import(address)) as object
    } catch (error) {
      if (!jitiMayHelp(error)) throw failed(shown, error)
      refusal = error
    }
  }
  const jiti = await findJiti(path)
  if (jiti === undefined) throw refusal === undefined ? needsJiti(shown) : failed(shown, refusal, true)
  try {
    return await jiti.import(path)
  } catch (error) {
    throw failed(shown, error)
  }
}

function hasTypeScript(): boolean {
  const { typescript } = process.features as { readonly typescript?: string | false }
  return typescript === 'strip' || typescript === 'transform'
}

/**
 * Node takes types away and no more: it wants file endings in imports and knows no enums. Such a module fails before
 * any of it runs, so trying again in another way repeats nothing.
 */
function jitiMayHelp(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return (
    code === 'ERR_UNKNOWN_FILE_EXTENSION' ||
    code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' ||
    code === 'ERR_INVALID_TYPESCRIPT_SYNTAX' ||
    code === 'ERR_UNSUPPORTED_DIR_IMPORT' ||
    code === 'ERR_MODULE_NOT_FOUND'
  )
}

async function findJiti(path: string): Promise<Jiti | undefined> {
  for (const from of [path, import.meta.url]) {
    try {
      const file = createRequire(from).resolve('jiti')
      const { createJiti } = (await import(pathToFileURL(file).href)) as JitiModule
      // No cache on the disk: it could lie in a folder where others may write.
      const options = { fsCache: false }
      try {
        return createJiti(path, { ...options, tsconfigPaths: true })
      } catch {
        // A tsconfig.json that it cannot read, such as one that extends a package which only developers have.
        return createJiti(path, options)
      }
    } catch {
      // Not installed there.
    }
  }
  return undefined
}

function needsJiti(shown: string): CliError {
  return new CliError(
    'CLIENT_MISSING',
    `"${shown}" is TypeScript, which Node ${process.versions.node} does not read by itself.`,
    {
      exitCode: EXIT.usage,
      fix: 'Run "npm install -D jiti", use Node 22.18 or newer, or write the file in JavaScript.',
    },
  )
}

function failed(shown: string, error: unknown, lacksJiti = false): CliError {
  const message = withoutMarks(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  const place = error instanceof Error ? placeOf(error) : undefined
  return invalid(
    `"${shown}" could not be loaded. ${clean(message)}${place === undefined ? '' : ` (${place})`}`,
    lacksJiti ? fixWithJiti(error) : CORRECT,
  )
}

const CORRECT = 'Correct the file; it is loaded as it is when your program starts.'

/** What Node refused and jiti reads, or may read. */
function fixWithJiti(error: unknown): string {
  const { code, message = '' } = error as { readonly code?: unknown; readonly message?: string }
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return 'Node takes types away and knows no enums or namespaces. Write it without, or run "npm install -D jiti".'
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?"/.test(message))
    return 'Run "npm install -D jiti", use Node 22.18 or newer, or write that file in JavaScript.'
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_UNSUPPORTED_DIR_IMPORT'
  if (!isMissing || !/imported from .*\.[cm]?tsx?\b/.test(message)) return CORRECT
  return (
    'Node wants the whole name of a file in an import (./mail.ts, not ./mail or ./mail.js) and knows no paths of ' +
    'tsconfig.json. Run "npm install -D jiti", with which all of these work, or correct the import.'
  )
}

/** Lines of a stack that are not the user's: Node's, jiti's and ours. */
const FOREIGN = /node:|node_modules[\\/]jiti|[\\/]cli[\\/](?:load-module|reload[\\/])/

/** Where it is wrong, as file and line: a file that cannot be read is named by the first line, anything else by the first of its own. */
function placeOf({ stack = '' }: Error): string | undefined {
  const [first = '', ...lines] = withoutMarks(stack).split('\n')
  const named = /^(?:file:\/\/)?([^\s()]+:\d+)$/.exec(first)?.[1]
  const line = lines.find((one) => /^\s+at /.test(one) && !FOREIGN.test(one))
  const found = named ?? (line === undefined ? undefined : /([^\s()]+:\d+):\d+\)?$/.exec(line)?.[1])
  if (found === undefined) return undefined
  const path = clean(found.replace(/^file:\/\//, ''))
  const inside = relative(process.cwd(), path)
  return inside.startsWith('..') ? path : inside
}

/**
 * Node announces once per process what it calls experimental (its TypeScript, its SQLite), and that a config could load a
 * little faster, in the middle of our output. Who runs a command cannot act on that; every other warning is shown.
 */
export function quietExperiments(): void {
  const { emitWarning } = process
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]): void => {
    const [about, second] = rest as [
      string | { readonly type?: string; readonly code?: string } | undefined,
      unknown,
    ]
    const options = typeof about === 'object' ? about : { type: about, code: second }
    const type = warning instanceof Error ? warning.name : options.type
    if (type === 'ExperimentalWarning' || options.code === 'MODULE_TYPELESS_PACKAGE_JSON') return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
}

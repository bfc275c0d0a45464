/** The built files of the dashboard. */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.map': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}
const SMALL_BYTES = 1_024

interface File {
  readonly bytes: Buffer
  readonly zipped: Buffer | null
  readonly type: string
  readonly tag: string
  readonly changedMs: number
}

/** Answers with files of a folder, and with its index for everything else that a browser visits. */
export class Files {
  readonly #folder: string | null
  readonly #known = new Map<string, File>()

  /** Null: there is no folder. */
  constructor(folder: string | null) {
    this.#folder = folder
  }

  /** The file at a path below the mount; null if there is none and the path is no page either. */
  async answer(request: Request, path: string, mount: string): Promise<Response | null> {
    const name = nameOf(path)
    if (name === null) return null
    const file = name === 'index.html' ? null : await this.#read(name)
    if (file !== null) return this.#send(request, file, isHashed(name) ? IMMUTABLE : 'no-cache')
    // What looks like a file and is not there is an error; anything else is a page, which finds its own way.
    if (name !== 'index.html' && isFileName(name, request)) return null
    const index = await this.#read('index.html')
    if (index === null) return notBuilt()
    return this.#send(request, await pageAt(index, mount), 'no-cache')
  }

  #send(request: Request, file: File, cache: string): Response {
    const zipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '') ? file.zipped : null
    const headers: Record<string, string> = {
      'content-type': file.type,
      'cache-control': cache,
      etag: file.tag,
      vary: 'accept-encoding',
      ...(zipped === null ? {} : { 'content-encoding': 'gzip' }),
    }
    if (request.headers.get('if-none-match') === file.tag) return new Response(null, { status: 304, headers })
    const body = zipped ?? file.bytes
    headers['content-length'] = String(body.byteLength)
    return new Response(new Uint8Array(body), { headers })
  }

  async #read(name: string): Promise<File | null> {
    if (this.#folder === null) return null
    const path = join(this.#folder, name)
    try {
      const found = await stat(path)
      if (!found.isFile()) return null
      const known = this.#known.get(name)
      if (known?.changedMs === found.mtimeMs) return known
      const file = await fileOf(
        await readFile(path),
        TYPES[extname(name)] ?? 'application/octet-stream',
        found.mtimeMs,
      )
      this.#known.set(name, file)
      return file
    } catch {
      return null
    }
  }
}

const IMMUTABLE = 'public, max-age=31536000, immutable'

/** The bundler puts a hash into the names of what it puts under assets. */
function isHashed(name: string): boolean {
  return name.startsWith('assets/')
}

/** Names of queues have dots too, so only what a page asks for and not what a person visits is taken for a file. */
function isFileName(name: string, request: Request): boolean {
  if (isHashed(name)) return true
  return extname(name) in TYPES && !(request.headers.get('accept') ?? '').includes('text/html')
}

/** A path as the name of a file in the folder; null if it leads out of it. */
function nameOf(path: string): string | null {
  try {
    const name = normalize(decodeURIComponent(path)).replaceAll(sep, '/').replace(/^\/+/, '')
    if (name.startsWith('..') || name.includes('\0') || name.includes('/..')) return null
    return name === '' || name === '.' ? 'index.html' : name.replace(/\/$/, '')
  } catch {
    return null
  }
}

async function fileOf(bytes: Buffer, type: string, changedMs: number): Promise<File> {
  const isText = /^(?:text|application\/(?:json|manifest)|image\/svg)/.test(type)
  const zipped = isText && bytes.byteLength > SMALL_BYTES ? await promisify(gzip)(bytes) : null
  const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { bytes, zipped, type, tag, changedMs }
}

/**
 * The page as it is under a mount: its files are asked for there, and it is told where that is. A `<base>` would do both, but then the
 * content policy would have to allow one, which a page that somebody has written into could change.
 */
async function pageAt(index: File, mount: string): Promise<File> {
  const at = `${escaped(mount)}/`
  const html = index.bytes
    .toString('utf8')
    .replace(/<head>/i, (head) => `${head}\n    <meta name="skep-mount" content="${at}" />`)
    .replace(/ (src|href)="\.\//g, (_, name: string) => ` ${name}="${at}`)
  return fileOf(Buffer.from(html), index.type, index.changedMs)
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (letter) => names[letter] as string)
}

function notBuilt(): Response {
  const html = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Skep</title></head>
  <body>
    <h1>The dashboard is not built</h1>
    <p>This server runs, and its API answers under <code>api/v1</code>. The files of the dashboard are not there:
    in a clone of Skep run <code>npm run build</code>; the package includes them, unless a bundler has put the code of Skep into its own
    output. Keep Skep out of the bundle:</p>
    <ul>
      <li>Next.js: <code>serverExternalPackages: ['skep']</code> in <code>next.config.js</code></li>
      <li>esbuild, tsup, Rollup, Vite: <code>external: ['skep']</code></li>
    </ul>
  </body>
</html>
`
  return new Response(html, {
    status: 503,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  })
}

// A real server over SQLite with real workers, and a real browser that looks at it.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { createSkep, type Skep } from '../../src/index.ts'
import { createServer, type ServerOptions, type SkepServer } from '../../src/server.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { chromiumProgram } from '../servers/index.ts'

/** Machines that test are slow, and a browser beside everything else is slower. */
export const PATIENCE_MS = 20_000

export interface Stage {
  readonly skep: Skep
  readonly server: SkepServer
  readonly browser: Browser
  /** The database of the store. */
  readonly file: string
  /** Where the dashboard is, without a slash at its end. */
  readonly url: string
  close(): Promise<void>
}

export async function openStage(options: ServerOptions = {}): Promise<Stage> {
  const { command, reason } = chromiumProgram()
  if (command === undefined) throw new Error(`There is no browser for the tests: ${reason}`)
  const folder = mkdtempSync(join(tmpdir(), 'skep-dashboard-'))
  const file = join(folder, 'jobs.db')
  const skep = createSkep({ store: sqliteStore({ file }) })
  const server = createServer(skep, options)
  const { url } = await server.listen({ port: 0 })
  const browser = await openBrowser()
  return {
    skep,
    server,
    browser,
    file,
    url,
    async close() {
      await browser.close()
      await server.close()
      await skep.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function openBrowser(): Promise<Browser> {
  const { command } = chromiumProgram()
  return chromium.launch({
    executablePath: command as string,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}

export interface Visit {
  readonly page: Page
  /** Everything that should not have happened: errors of scripts, of the console and of the content policy, and dialogs. */
  readonly complaints: string[]
  close(): Promise<void>
}

export interface VisitOptions {
  readonly width?: number
  readonly height?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly scheme?: 'light' | 'dark'
}

/** A person opens a page of the dashboard. */
export async function visit(
  browser: Browser,
  address: string,
  { width = 1_280, height = 860, headers = {}, scheme = 'light' }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    extraHTTPHeaders: headers,
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(PATIENCE_MS)
  context.setDefaultNavigationTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(`${error.name}: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (event) => console.error('content policy: ' + event.violatedDirective + ' ' + event.blockedURI))",
  )
  await page.goto(address)
  await page.getByRole('main').waitFor()
  return { page, complaints, close: () => context.close() }
}

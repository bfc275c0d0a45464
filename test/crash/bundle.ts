/**
 * The programs as plain JavaScript in a temporary folder: a process that has to read TypeScript first takes a second to
 * start, and thousands are started.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

export interface Bundle {
  /** The script of a program. */
  script(name: 'worker-program' | 'producer-program' | 'schedule-program' | 'flow-program'): string
  remove(): void
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export async function bundlePrograms(): Promise<Bundle> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-programs-'))
  // What has native parts cannot be bundled.
  for (const name of ['@photostructure/sqlite', 'node-gyp-build'])
    cpSync(here(`../../node_modules/${name}`), join(folder, 'node_modules', name), { recursive: true })
  const build = await rolldown({
    input: {
      'worker-program': here('./worker-program.ts'),
      'producer-program': here('./producer-program.ts'),
      'schedule-program': here('./schedule-program.ts'),
      'flow-program': here('./flow-program.ts'),
    },
    platform: 'node',
    external: ['pg-native', 'postgres', '@photostructure/sqlite'],
    logLevel: 'silent',
  })
  await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name].mjs',
  })
  await build.close()
  return {
    script: (name) => join(folder, `${name}.mjs`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

export interface Bundle {
  /** The player's program. */
  readonly file: string
  remove(): void
}

/**
 * Bundles the player and every line. The result lies inside the rivals' packages, so that an import finds theirs first
 * and the repository's after them.
 */
export async function bundlePlayer(root: string): Promise<Bundle> {
  const bench = join(root, 'bench')
  const home = join(bench, 'rivals/node_modules/.cache')
  mkdirSync(home, { recursive: true })
  const folder = mkdtempSync(join(home, 'player-'))
  const lines = readdirSync(join(bench, 'lines')).filter((file) => /^[a-z-]+\.ts$/.test(file))
  const build = await rolldown({
    input: {
      player: join(bench, 'player/main.ts'),
      ...Object.fromEntries(lines.map((file) => [`line-${file.slice(0, -3)}`, join(bench, 'lines', file)])),
    },
    platform: 'node',
    // Packages stay where they are; only what lies beside the player goes in.
    external: /^[^./]/,
  })
  await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: 'shared-[name].mjs',
  })
  await build.close()
  return {
    file: join(folder, 'player.mjs'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { mutantPlugins } from './test/mutants/plugin.ts'
import { LongestFirst } from './test/support/longest-first.ts'

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

export default defineConfig({
  // None, unless the environment names a mutant of test/mutants.
  plugins: mutantPlugins(),
  resolve: {
    // Tests read the sources, so that a test never passes against an old build.
    alias: [
      { find: /^skep$/, replacement: source('index.ts') },
      { find: /^skep\/([a-z]+)$/, replacement: source('$1.ts') },
    ],
  },
  test: {
    include: [
      'test/**/*.test.ts',
      'src/**/*.test.ts',
      'dashboard/src/**/*.test.ts',
      'bench/report/*.test.ts',
    ],
    globalSetup: ['./test/servers/global-setup.ts'],
    // Processes, not threads: tests kill workers, open native databases and change signal handlers.
    pool: 'forks',
    // One more than there are cores: many tests wait for servers, leases and processes.
    maxWorkers: 3,
    // Or the last worker would be alone with a file that takes minutes.
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 15_000,
    // Not a second: what is waited for comes later on a busy machine.
    expect: { poll: { timeout: 20_000 } },
  },
})

import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { mutantPlugins } from './test/mutants/plugin.ts'
import { LongestFirst } from './test/support/longest-first.ts'

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

/**
 * Folders whose files follow each other in one process and share what was loaded: reading all sources anew takes longer than most
 * of them. They leave nothing behind, and look at nothing that belongs to the whole process.
 */
const TOGETHER = [
  'test/{client,core,flows,metrics,proof,scheduler,server,worker}/**/*.test.ts',
  'dashboard/src/**/*.test.ts',
  'bench/report/*.test.ts',
]

function project(name: string, test: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration {
  return {
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
      name,
      // Processes, not threads: tests kill workers, open native databases and change signal handlers.
      pool: 'forks',
      testTimeout: 30_000,
      hookTimeout: 30_000,
      // Not a second: what is waited for comes later on a busy machine.
      expect: { poll: { timeout: 20_000 } },
      ...test,
    },
  }
}

export default defineConfig({
  test: {
    projects: [
      project('together', { include: TOGETHER, isolate: false }),
      project('alone', { include: ['{test,src}/**/*.test.ts'], exclude: TOGETHER }),
    ],
    globalSetup: ['./test/servers/global-setup.ts'],
    // One more than there are cores: many tests wait for servers, leases and processes.
    maxWorkers: 3,
    // Or the last worker would be alone with a file that takes minutes.
    sequence: { sequencer: LongestFirst },
    teardownTimeout: 15_000,
  },
})

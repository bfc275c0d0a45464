import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Folders and files with the longest tests, the longest first. A fresh clone remembers no times by which to sort. */
const LONGEST = [
  'test/simulation/memory',
  'test/simulation/sqlite',
  'test/bench/',
  'test/crash/',
  'test/conformance/',
  'test/simulation/',
  'test/cli/',
  'test/redis/',
  'test/nats/',
  'test/flows/',
]

/** Starts the files that take longest first, so that both workers have something to do until the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.findIndex((part) => moduleId.includes(part))
      return found === -1 ? LONGEST.length : found
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

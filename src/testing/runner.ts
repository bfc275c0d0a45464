/**
 * The two functions of a test runner that the suites call, so that they work with any: those of Vitest, Jest
 * and `node:test` fit as they are.
 */
export interface Runner {
  describe(name: string, body: () => void): unknown
  it(name: string, body: () => Promise<void>): unknown
}

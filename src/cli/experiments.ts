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

/**
 * Node announces what it calls experimental (its TypeScript, its SQLite) once per process, in the middle of our
 * output. Who runs a command cannot act on that; every other warning is shown as always.
 */
export function quietExperiments(): void {
  const { emitWarning } = process
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]): void => {
    const [about] = rest as [string | { readonly type?: string } | undefined]
    const type = warning instanceof Error ? warning.name : typeof about === 'string' ? about : about?.type
    if (type !== 'ExperimentalWarning') Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
}

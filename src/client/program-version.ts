/** The version of the program: what it says, what its environment says, or what npm says of its package; null: nobody knows. */
export function programVersion(said: string | undefined): string | null {
  const version = said ?? process.env['SKEP_VERSION'] ?? process.env['npm_package_version']
  return version === undefined || version === '' ? null : String(version).slice(0, 128)
}

/**
 * Node keeps every module it has loaded, by its address, for as long as the process lives. So a module is reloaded under another
 * address: with a mark behind it, which what it imports inherits. Packages are not marked, and neither are we: they do not change
 * while a handler is edited, and there must be one of each.
 */
const NAME = 'skep-load'
const MARK = new RegExp(`[?&]${NAME}=(\\d+)`)

/** The address of a module of that loading. */
export function marked(url: string, loading: number): string {
  return `${url}${url.includes('?') ? '&' : '?'}${NAME}=${loading}`
}

/** The load that a module belongs to; null: it is not reloaded. */
export function loadingOf(url: string | undefined): number | null {
  const found = MARK.exec(url ?? '')
  return found === null ? null : Number(found[1])
}

/** A text that mentions modules, without the marks. */
export function withoutMarks(text: string): string {
  return text.replace(new RegExp(MARK, 'g'), '')
}

/** Whether a file is the user's own: not of a package, and not ours. `own` are our folders, as paths or as addresses. */
export function isUsers(file: string, own: readonly string[]): boolean {
  return !/[\\/]node_modules[\\/]/.test(file) && !own.some((folder) => file.startsWith(folder))
}

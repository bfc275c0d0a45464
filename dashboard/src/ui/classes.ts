/** Joins the names that apply: `classes('row', isOpen && 'open')`. */
export function classes(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ')
}

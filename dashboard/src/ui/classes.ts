/** Joins class names and skips falsy ones: `classes('row', isOpen && 'open')`. */
export function classes(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ')
}

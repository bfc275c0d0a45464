/** Splits a fix from the doctor into prose and code: either may be missing, and a colon separates them. */
export function fixParts(fix: string): { readonly prose: string | null; readonly code: string | null } {
  if (isCode(fix)) return { prose: null, code: fix }
  const [, prose, code] = /^(.*?):\s+([\s\S]+)$/.exec(fix) ?? []
  if (prose !== undefined && code !== undefined && isCode(code)) return { prose: `${prose}:`, code }
  return { prose: fix, code: null }
}

function isCode(text: string): boolean {
  return /^(npx |npm |skep |psql |redis-cli |CONFIG SET |ALTER |CREATE |DROP |VACUUM|ANALYZE|REINDEX |ROLLBACK |SELECT |SET |GRANT |PRAGMA )/.test(
    text,
  )
}

/** A fix as the doctor says it: words, a command or SQL, or words with one of these after a colon. */
export function fixParts(fix: string): { readonly words: string | null; readonly code: string | null } {
  if (isCode(fix)) return { words: null, code: fix }
  const [, words, code] = /^(.*?):\s+([\s\S]+)$/.exec(fix) ?? []
  if (words !== undefined && code !== undefined && isCode(code)) return { words: `${words}:`, code }
  return { words: fix, code: null }
}

function isCode(text: string): boolean {
  return /^(npx |npm |skep |psql |redis-cli |CONFIG SET |ALTER |CREATE |DROP |VACUUM|ANALYZE|REINDEX |ROLLBACK |SELECT |SET |GRANT |PRAGMA )/.test(
    text,
  )
}

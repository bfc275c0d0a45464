/** What every answer tells the browser. None of it says which server this is, nor its version. */

// Pages run only scripts and styles that come from here as files, send nothing elsewhere, and are framed by nobody.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const ALWAYS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'permissions-policy':
    'accelerometer=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

export interface HeaderRules {
  /** For how many seconds browsers must use https for this host; null: they are not told. */
  readonly hstsSeconds: number | null
}

/** The headers of an answer. What the API answers is kept nowhere; a file says itself how long it may be kept. */
export function securityHeaders(
  isFile: boolean,
  isEncrypted: boolean,
  { hstsSeconds }: HeaderRules,
): Readonly<Record<string, string>> {
  return {
    ...ALWAYS,
    ...(isFile ? {} : { 'cache-control': 'no-store' }),
    // Browsers ignore it on http, and a standard forbids to send it there.
    ...(hstsSeconds === null || !isEncrypted
      ? {}
      : { 'strict-transport-security': `max-age=${hstsSeconds}` }),
  }
}

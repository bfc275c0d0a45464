/**
 * The mount path with a trailing slash, such as `/` or `/admin/queues/`. The server writes it into the page,
 * so one build works under every path. Vite's development server omits it and serves at the root.
 */
export const basePath: string =
  document.querySelector<HTMLMetaElement>('meta[name="skep-mount"]')?.content ?? '/'

/** Resolves a path below the mount, such as `api/v1/events`. */
export function urlOf(path: string): string {
  return `${basePath}${path}`
}

/**
 * Where the dashboard is mounted, with a slash at its end: `/` or `/admin/queues/`. The server says it in the page, so that
 * the same files work under every path; the server of the bundler, in development, says nothing and is at the root.
 */
export const basePath: string =
  document.querySelector<HTMLMetaElement>('meta[name="skep-mount"]')?.content ?? '/'

/** The address of a path below the mount, such as `api/v1/events`. */
export function urlOf(path: string): string {
  return `${basePath}${path}`
}

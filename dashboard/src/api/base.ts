/**
 * Where the dashboard is mounted, with a slash at its end: `/` or `/admin/queues/`. The server says it in `<base href>`, so that
 * the same files work under every path.
 */
export const basePath: string = new URL('.', document.baseURI).pathname

/** The address of a path below the mount, such as `api/v1/events`. */
export function urlOf(path: string): string {
  return `${basePath}${path}`
}

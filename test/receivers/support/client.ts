/** A receiver as a program in any language would write it: HTTP, lines of JSON, and nothing of Skep. */

export interface WireJob {
  readonly id: string
  readonly queue: string
  readonly payload: unknown
  readonly attempt: number
  readonly token: string
  readonly timeoutMs: number | null
  readonly results: readonly unknown[] | null
}

export interface Frame {
  readonly hello?: { readonly receiver: string }
  readonly jobs?: readonly WireJob[]
  readonly stop?: readonly { readonly id: string; readonly reason: string }[]
  readonly ping?: unknown
  readonly end?: { readonly reason: string }
}

export interface WireResult {
  readonly id: string
  readonly status: string
}

export interface WireAcked {
  readonly saved: number
  readonly results: readonly WireResult[]
}

export async function post<T>(url: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  })
  const answer = (await response.json()) as T & { readonly error?: { readonly code: string } }
  if (!response.ok) throw new Error(answer.error?.code ?? `HTTP ${response.status}`)
  return answer
}

/** Reads the frames of a stream until it ends. */
export async function* receive(
  url: string,
  body: unknown,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): AsyncGenerator<Frame, void, void> {
  const response = await fetch(`${url}/receive`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
    signal,
  })
  if (!response.ok || response.body === null)
    throw new Error(`HTTP ${response.status} ${await response.text()}`)
  const decoder = new TextDecoder()
  let rest = ''
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() as string
    for (const line of lines) yield JSON.parse(line) as Frame
  }
}

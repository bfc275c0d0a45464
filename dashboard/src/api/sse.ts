/**
 * Reads server-sent events from a `fetch` body, which can send headers where `EventSource` cannot. Comments,
 * `id` and `retry` are ignored.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (kind: string, data: string) => void,
): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>
  let rest = ''
  let kind = 'message'
  let data: string[] = []
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + value).split(/\r\n|\n|\r/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) onEvent(kind, data.join('\n'))
        kind = 'message'
        data = []
      } else if (line.startsWith('event:')) kind = line.slice(6).trim()
      else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
    }
  }
}

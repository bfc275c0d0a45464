import type { Argument } from '../connection/client.ts'

/** How a command begins that is sent again and again: its name and first arguments, as they are written, once. */
export class Head {
  readonly args: readonly string[]
  readonly bytes: Buffer

  constructor(args: readonly string[]) {
    this.args = args
    this.bytes = Buffer.from(args.map(written).join(''))
  }
}

/** A command as it is sent, in one piece. */
export function wireOf(head: Head, args: readonly Argument[]): Buffer {
  const pieces = piecesOf(head, args)
  let size = 0
  for (const piece of pieces) size += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  for (const piece of pieces) at += typeof piece === 'string' ? bytes.write(piece, at) : piece.copy(bytes, at)
  return bytes
}

/** A command as it is sent, without a copy of the buffers in it. */
export function wireParts(head: Head, args: readonly Argument[]): Buffer[] {
  return piecesOf(head, args).map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
}

/** The buffers of a command, and the texts between them. */
function piecesOf(head: Head, args: readonly Argument[]): Argument[] {
  const pieces: Argument[] = [`*${head.args.length + args.length}\r\n`, head.bytes]
  let text = ''
  for (const arg of args) {
    if (typeof arg === 'string') {
      text += written(arg)
    } else {
      pieces.push(`${text}$${arg.length}\r\n`, arg)
      text = '\r\n'
    }
  }
  pieces.push(text)
  return pieces
}

function written(arg: string): string {
  return `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`
}

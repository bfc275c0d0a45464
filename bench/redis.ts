import { createConnection } from 'node:net'

/** One command and its answer, spoken by hand, so that no client has to be installed. */
export function ask(url: string, command: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: hostname, port: Number(port) })
    let answer = ''
    socket.once('connect', () => socket.write(`${command}\r\n`))
    socket.once('error', reject)
    socket.on('data', (data) => {
      answer += data.toString()
      if (!isWhole(answer)) return
      socket.destroy()
      if (answer.startsWith('-')) reject(new Error(`Redis said: ${answer}`))
      else resolve(answer)
    })
  })
}

/** A text of many lines says first how long it is; every other answer is one line. */
function isWhole(answer: string): boolean {
  const length = /^\$(\d+)\r\n/.exec(answer)
  return length === null
    ? answer.endsWith('\r\n')
    : Buffer.byteLength(answer) >= length[0].length + Number(length[1])
}

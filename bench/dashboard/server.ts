import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { InputOf, OperationName, OutputOf } from 'skep/server'
import type { Address } from '../contest.ts'
import { now } from '../contest.ts'

/** A server that is measured, seen from the process that asks it. */
export class MeasuredServer {
  readonly #child: ChildProcess
  readonly #url: string

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.#url = url
  }

  static async start(address: Address): Promise<MeasuredServer> {
    const file = fileURLToPath(new URL('serve.ts', import.meta.url))
    const child = fork(file, [JSON.stringify(address)], {
      execArgv: ['--import', 'jiti/register', '--expose-gc'],
    })
    const { url } = (await messageOf(child)) as { url: string }
    return new MeasuredServer(child, url)
  }

  async call<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>> {
    const response = await fetch(`${this.#url}/api/v1/call/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${name} ${JSON.stringify(input)}: ${text.slice(0, 300)}`)
    return JSON.parse(text) as OutputOf<Name>
  }

  /** How long it takes until the whole answer is here, in milliseconds; nothing of it is read but its length. */
  async time(path: string, input: unknown): Promise<number> {
    const from = now()
    const response = await fetch(`${this.#url}${path}`, {
      ...(input !== null && { method: 'POST', body: JSON.stringify(input) }),
      headers: { 'content-type': 'application/json' },
    })
    const body = await response.arrayBuffer()
    const took = now() - from
    if (!response.ok)
      throw new Error(`${path} ${JSON.stringify(input)}: ${Buffer.from(body).toString().slice(0, 300)}`)
    return took
  }

  /** What is alive on its heap, after everything else was collected. */
  async heapBytes(): Promise<number> {
    this.#child.send('heap')
    const { heapBytes } = (await messageOf(this.#child)) as { heapBytes: number }
    return heapBytes
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.disconnect()
    await ended
  }
}

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`The server ended with ${code} before it said anything.`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      resolve(message)
    })
  })
}

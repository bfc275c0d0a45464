// Stands between a test run and a server it started. The keeper sits in its own process group, so Ctrl-C in the
// terminal reaches the tests but not the server, and the tests can still clean up. When the tests end, in whatever
// way (even by SIGKILL), the pipe to the keeper's standard input closes; it then stops the server and removes its
// folder, unless that is to be kept. If the tests write `kill` first, it stops the server with SIGKILL. Plain JavaScript, because Node starts it directly.
//
// One argument, as JSON: { command, args, env, uid?, gid?, folder, log, stopSignal, isKept?, patienceMs? }

import { spawn } from 'node:child_process'
import { openSync, rmSync } from 'node:fs'

const {
  command,
  args,
  env,
  uid,
  gid,
  folder,
  log,
  stopSignal,
  isKept,
  patienceMs = 10_000,
} = JSON.parse(process.argv[2] ?? '{}')

const output = openSync(log, 'a')
const server = spawn(command, args, {
  cwd: folder,
  env: { ...process.env, ...env },
  stdio: ['ignore', output, output],
  ...(uid === undefined ? {} : { uid, gid }),
})

let stopping = false
let killed = false

function stop() {
  if (stopping) return
  stopping = true
  server.kill(stopSignal)
  setTimeout(() => server.kill('SIGKILL'), patienceMs).unref()
}

server.once('error', (error) => {
  console.error(String(error))
  process.exit(1)
})

server.once('exit', (code) => {
  // A server that ended by itself leaves its folder, and in it the log that says why.
  if (!stopping && !killed) process.exit(code === 0 ? 1 : (code ?? 1))
  if (!isKept) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(0)
})

process.stdin.on('data', () => {
  killed = true
  server.kill('SIGKILL')
})
process.stdin.on('end', stop)
process.stdin.on('close', stop)
process.stdin.on('error', stop)
process.stdin.resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)

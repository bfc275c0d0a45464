/**
 * node --import jiti/register bench/check-lines.ts [names]
 * Opens every line on its real server, enqueues 200 jobs one by one and 200 at once, runs them in a second process and
 * checks that each of them ran exactly once and none is left. Run it after a rival got a new version.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchNode, nodeVersions } from '../scripts/fetch-node.mjs'
import { ensureRivals } from '../scripts/rivals.mjs'
import type { Contestant } from './contest.ts'
import { CONTESTANTS } from './contestants.ts'
import { bundlePlayer } from './player/bundle.ts'
import { Player } from './player/player.ts'
import { Seen } from './player/seen.ts'
import { root } from './root.ts'
import { Servers } from './servers.ts'

const names = process.argv.slice(2)
// Other ways to do what some scenarios ask open the same lines.
const chosen = CONTESTANTS.filter(({ name, only }) => !only && (names.length === 0 || names.includes(name)))
if (!(await ensureRivals())) process.exit(1)
const servers = await Servers.start(chosen)
const bundle = await bundlePlayer(root)
try {
  for (const contestant of chosen) {
    for (const keep of [false, true]) {
      if (contestant.lacks?.includes(keep ? 'keep' : 'discard')) continue
      const wrong = await check(contestant, keep)
      if (wrong.length > 0) process.exitCode = 1
      const what = `${contestant.name}${version(contestant)}, ${keep ? 'kept' : 'removed'}`
      console.log(
        `${wrong.length === 0 ? 'ok    ' : 'WRONG '} ${what}${wrong.map((line) => `\n       ${line}`).join('')}`,
      )
    }
  }
} finally {
  bundle.remove()
  await servers.stop()
}

async function check(contestant: Contestant, keep: boolean): Promise<string[]> {
  const { line, node, options } = contestant
  const fresh = await servers.fresh(contestant)
  const program = {
    file: bundle.file,
    node: node === undefined ? process.execPath : await fetchNode(nodeVersions[node] ?? ''),
    root,
  }
  const producer = new Player(program)
  const worker = new Player(program)
  const wrong: string[] = []
  const expect = (what: string, value: number, wanted: number): void => {
    if (value !== wanted) wrong.push(`${what}: ${value} instead of ${wanted}`)
  }
  try {
    // At the same time: whoever comes second must not stumble over the tables of the first.
    await Promise.all(
      [producer, worker].map((player) =>
        player.call('open', [{ address: fresh.address, keep, rules: {}, options, line }]),
      ),
    )
    const { count: first } = await producer.call('enqueueOneByOne', [{ from: 0, ms: 200 }])
    await producer.call('enqueueMany', [{ from: first, count: 200, chunk: 200 }])
    const filled = first + 200
    expect('open after the fill', (await producer.call('count', [])).open, filled)

    await worker.call('work', [{ concurrency: 10 }])
    const deadline = performance.now() + 20_000
    while ((await worker.call('progress', [])).ran < filled && performance.now() < deadline) await sleep(20)
    const { ran, seen } = await worker.call('stopWorking', [])
    expect('ran', ran, filled)
    expect('different ones', Seen.fromText(seen).count(), filled)
    const { open, kept } = await producer.call('count', [])
    expect('open at the end', open, 0)
    expect('kept at the end', kept, keep ? filled : 0)
  } catch (error) {
    wrong.push(String(error))
  } finally {
    await Promise.all([producer.end(), worker.end()])
    await fresh.remove()
  }
  return wrong
}

function version({ package: name, node }: Contestant): string {
  if (name === undefined) return ''
  for (const folder of ['bench/rivals/node_modules', 'node_modules']) {
    try {
      const { version } = JSON.parse(readFileSync(join(root, folder, name, 'package.json'), 'utf8'))
      return ` ${version}${node === undefined ? '' : ` (Node ${node})`}`
    } catch {
      // Not one of the rivals.
    }
  }
  return ''
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../src/testing/random.ts'
import type { FaultProxy, Faults, LostReply } from './fault-proxy.ts'
import type { StageFault } from './stage.ts'

/** What happens on the way between some of the processes and the server. */
export function networkFaults(
  proxyOf: (slot: string) => FaultProxy,
  replies: readonly LostReply[],
): StageFault[] {
  const fault = (name: string, weight: number, faults: (random: Random) => Faults): StageFault => ({
    name,
    weight,
    async run(random, slots, lengthMs) {
      const hit = slots.filter(() => random.chance(0.6))
      const what = faults(random)
      for (const slot of hit) proxyOf(slot).set(what)
      await sleep(random.int(50, lengthMs))
      for (const slot of hit) proxyOf(slot).heal()
    },
  })
  return [
    fault('slow network', 2, (random) => ({ latencyMs: random.int(1, 60), jitterMs: random.int(0, 60) })),
    fault('narrow network', 1, (random) => ({ bytesPerSecond: random.int(20, 200) * 1_024 })),
    fault('stalled network', 2, () => ({ stall: 'both' })),
    fault('black hole', 2, (random) => ({ blackHole: random.pick(['up', 'down', 'both'] as const) })),
    fault('refused connections', 1, () => ({ refuse: true })),
    fault('cut in mid-answer', 1, (random) => ({ cutAfterBytes: random.int(0, 3_000) })),
    {
      name: 'reset connections',
      weight: 2,
      run: async (random, slots) => proxyOf(random.pick(slots)).reset(),
    },
    {
      name: 'reply lost after commit',
      weight: 4,
      async run(random, slots, lengthMs) {
        const lost = proxyOf(random.pick(slots)).loseReply(random.pick(replies))
        await Promise.race([lost, sleep(lengthMs)])
      },
    },
  ]
}

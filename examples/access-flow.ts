// A member joins: check what they may get, give them each reward at the same time, then tell them.
import { createSkep, flow, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

interface Member {
  userId: number
}
interface Reward {
  platform: string
  userId: number
}

const accessCheck = queue<Member, { platforms: string[] }>('access-check')
const manageReward = queue<Reward, { role: string }>('manage-reward:discord')
const notify = queue<Member & { rewards: readonly { role: string }[] }, { told: string }>('notify')

const access = flow('access', (f) =>
  f
    .step(accessCheck)
    .each('rewards', manageReward, ({ state }) =>
      state.platforms.map((platform) => ({ platform, userId: state.userId })),
    )
    .step(notify),
)

const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })
skep.worker([
  access,
  accessCheck.handle(() => ({ platforms: ['discord', 'telegram'] })),
  manageReward.handle(({ payload }) => ({ role: `${payload.platform}:member` })),
  notify.handle(({ payload }) => ({ told: payload.rewards.map(({ role }) => role).join(' and ') })),
])

const run = await skep.start(access, { userId: 62 }, { attributes: { userId: 62 } })
console.log((await run.result()).told)

const { runs } = await skep.runs.list({ attributes: { userId: 62 } })
console.log(runs.map(({ flow: name, status }) => `${name}: ${status}`))
await skep.close()

// Prints:
// discord:member and telegram:member
// [ 'access: done' ]

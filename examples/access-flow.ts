// A member joins: check what they may get, give them each reward at the same time, on every platform, then tell them.
import { createSkep, flow, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

interface Member {
  userId: number
}
interface Reward extends Member {
  role: string
}

const accessCheck = queue<Member, { roles: string[] }>('access-check')
const manageReward = queue<Member, { server: string }>('manage-reward')
// Its children, each with workers of its own.
const discord = queue<Reward & { server: string }, string>('manage-reward:discord')
const telegram = queue<Reward, string>('manage-reward:telegram')
const notify = queue<{ rewards: string[] }, { told: string }>('notify')

const access = flow('access', (f) =>
  f
    .step(accessCheck)
    .step(manageReward)
    .parallel({
      discord: (g) =>
        g.each('given', discord, ({ state: { userId, server, roles } }) =>
          roles.map((role) => ({ userId, server, role })),
        ),
      telegram: (g) =>
        g.each('given', telegram, ({ state: { userId, roles } }) => roles.map((role) => ({ userId, role }))),
    })
    // It starts when the last child has ended, and has what all of them returned.
    .step(notify, ({ state }) => ({ rewards: [...state.discord.given, ...state.telegram.given] })),
)

const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })
skep.worker([
  access,
  accessCheck.handle(() => ({ roles: ['reader', 'writer'] })),
  manageReward.handle(() => ({ server: 'hive' })),
  discord.handle(({ payload }) => `${payload.role} on ${payload.server}`),
  telegram.handle(({ payload }) => `${payload.role} in the chat`),
  notify.handle(({ payload }) => ({ told: payload.rewards.join(', ') })),
])

const run = await skep.start(access, { userId: 62 }, { attributes: { userId: 62 } })
console.log((await run.result()).told)

const { runs } = await skep.runs.list({ attributes: { userId: 62 } })
console.log(runs.map(({ flow: name, status }) => `${name}: ${status}`))
await skep.close()

// Prints:
// reader on hive, writer on hive, reader in the chat, writer in the chat
// [ 'access: done' ]

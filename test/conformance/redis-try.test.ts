import { createRequire } from 'node:module'
import { describe, it } from 'vitest'
import { createRedisStore } from '../../src/stores/redis/store.ts'
import { describeStore } from '../../src/testing.ts'
import { describeOracle } from './describe-oracle.ts'

const require = createRequire('/work/main/bench/rivals/package.json')
const { Redis } = require('ioredis')
let n = 0
const open = async () => {
  const r = new Redis(6399)
  return createRedisStore({ client: r, unsafe: { noAof: true }, prefix: `t${process.pid}-${n++}` })
}
describeStore('redis', open, { describe, it })
if (process.env.ORACLE)
  describeOracle('redis', open, { seeds: Number(process.env.ORACLE), reopen: undefined } as never)

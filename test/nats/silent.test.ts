import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { jobIds, named } from '../../src/testing/notices/basket.ts'
import { Ear, work } from '../../src/testing/notifier/ear.ts'
import { FaultProxy } from '../crash/fault-proxy.ts'
import { missingProgram } from '../servers/missing.ts'
import { chownTo, serverFolder, serverIdentity } from '../servers/server.ts'
import { eventually, gets, openNotifier, openServer, workerOf } from './world.ts'

const hasOpenssl = missingProgram('openssl', ['version']) === undefined

it('a server that stands still stops nobody, is told to be down, and is used again when it goes on', async () => {
  const nats = await openServer()
  const proxy = await FaultProxy.start({
    host: '127.0.0.1',
    port: Number(new URL(nats.urls[0] as string).port),
  })
  onTestFinished(() => proxy.close())
  const servers = [`nats://127.0.0.1:${proxy.port}`]
  // Pings are rarer by default; nobody shall wait for them here.
  const [near, far] = [1, 2].map(() =>
    openNotifier({ servers, client: { pingInterval: 300, timeout: 2_000 } }),
  )
  const store = memoryStore()
  const mail = queue<{ n: number }, number>('mail')
  const program = createSkep({ store, notifier: near!, logger: silentLogger })
  const other = createSkep({ store, notifier: far!, logger: silentLogger })
  onTestFinished(async () => {
    await other.close()
    await program.close()
  })
  await other.worker([mail.handle(({ payload }) => payload.n)], { poll: '300ms' }).ready
  expect(await (await program.enqueue(mail, { n: 1 })).result({ timeout: '20s' })).toBe(1)

  proxy.set({ stall: 'both' })
  const handle = await program.enqueue(mail, { n: 2 })
  await eventually(
    'the job to be found without a word',
    async () => (await program.jobs.get(handle.id))?.state === 'done',
  )
  await eventually('the news that it is down', () => near!.health().status === 'down')

  proxy.heal()
  await eventually(
    'the news that all is well',
    () => near!.health().status === 'up' && far!.health().status === 'up',
  )
  expect(await (await program.enqueue(mail, { n: 3 })).result({ timeout: '20s' })).toBe(3)
})

it.skipIf(!hasOpenssl)('speaks TLS, and not with a server that it cannot trust', async () => {
  const identity = serverIdentity()
  const folder = serverFolder('nats-tls', identity)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  execFileSync('openssl', [...made, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  for (const file of [key, cert]) chownTo(file, identity)
  const nats = await openServer({ settings: `tls { cert_file: "${cert}", key_file: "${key}" }` })
  const trusting = openNotifier({ servers: nats.urls, client: { tls: { ca: readFileSync(cert, 'utf8') } } })
  const wary = openNotifier({ servers: nats.urls, client: { tls: {} } })

  const worker = workerOf(trusting)
  const ids = jobIds(3)
  trusting.publish([named(ids)])
  await gets(worker, ids)
  wary.publish([work('mail')])

  await eventually('a refusal', () => /certificate|self.signed/i.test(wary.health().detail))
  expect(trusting.health()).toEqual({ status: 'up', detail: 'Connected to NATS.' })
})

it('uses the JetStream of a domain', async () => {
  const disk = serverFolder('nats-domain', serverIdentity())
  onTestFinished(() => rmSync(disk, { recursive: true, force: true }))
  const nats = await openServer({
    jetstream: false,
    settings: `jetstream { domain: hub, store_dir: "${disk}" }`,
  })
  const [here, there] = [1, 2].map(() => openNotifier({ servers: nats.urls, domain: 'hub' }))
  const ear = new Ear(there!)
  await ear.ready()

  const worker = workerOf(there!)
  const ids = jobIds(5)
  here!.publish([named(ids), work('report')])

  await Promise.all([gets(worker, ids), ear.hears('report')])
  const elsewhere = openNotifier({ servers: nats.urls, domain: 'nowhere' })
  elsewhere.publish([named(jobIds(1))])
  await eventually('the news that notices do not flow', () => elsewhere.health().status === 'down')
})

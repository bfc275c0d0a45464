import { sees } from '../authorize/authorize-output.ts'
import { operation } from '../operation.ts'
import { paged } from '../schema/inputs.ts'
import { deadNotice, nextPage } from '../schema/outputs.ts'
import { all, flag, object } from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'

export const deadNoticesList = operation({
  name: 'deadNotices.list',
  method: 'GET',
  path: '/dead-notices',
  summary:
    'Lists notices of NATS that were delivered too often without an ack, oldest first. Their jobs are in the store.',
  scope: 'read',
  input: object(paged),
  output: object({
    hasNotices: flag('Whether the notifier of this server has notices: only NATS does.'),
    notices: all(deadNotice),
    cursor: nextPage,
  }),
  async run(input, { skep, caller, services: { redactor } }) {
    if (!skep.notifier.hasNotices) return { hasNotices: false, notices: [], cursor: null }
    const { notices, cursor } = await skep.notifier.deadNotices(input)
    const mine = notices.filter(({ queue }) => sees(caller, queue))
    return {
      hasNotices: true,
      notices: mine.map((notice) => toWire({ ...notice, reason: redactor.text(notice.reason) })),
      cursor,
    }
  },
})

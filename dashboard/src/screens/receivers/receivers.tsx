import { type ReactNode, useState } from 'react'
import type { ReceiverSummary } from '../../../../src/operations/schema/wire-types.ts'
import { urlOf } from '../../api/base.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { bytesText, plural, rateText } from '../../format/numbers.ts'
import { Page } from '../../shell/page.tsx'
import { IconButton } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Count } from '../../ui/count.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Duration, TimeAgo } from '../../ui/time.tsx'
import { useRates } from './rates.ts'

const PROTOCOLS = { grpc: 'gRPC', http: 'HTTP stream', poll: 'long poll' } as const

/** Clients in any language that receive jobs from this server. */
export function ReceiversScreen(): ReactNode {
  const request = useApi('receivers.list', {}, { every: 2_000 })
  const [closing, setClosing] = useState<ReceiverSummary | null>(null)
  const canOperate = useCan('operate')
  const rates = useRates(request.data?.receivers, request.dataUpdatedAt)
  const close = useAct('receivers.close', {
    success: 'Receiver closed. Its jobs go to other receivers.',
    onDone: () => setClosing(null),
  })
  return (
    <Page title="Receivers" name="Receivers">
      <Loaded request={request}>
        {({ receivers }) =>
          receivers.length === 0 ? (
            <NoReceivers />
          ) : (
            <Table
              label="Receivers"
              rows={receivers}
              columns={columnsOf(rates, canOperate ? setClosing : null)}
              keyOf={({ id }) => id}
              rowHeight={56}
            />
          )
        }
      </Loaded>
      {closing && (
        <Confirm
          title={`Close ${closing.name}`}
          action="Close receiver"
          danger
          busy={close.isPending}
          onClose={() => setClosing(null)}
          onConfirm={() => close.mutate({ id: closing.id })}
        >
          <p>
            Closes the stream. Its {plural(closing.unacked, 'unacknowledged job')} go to other receivers. A
            healthy receiver reconnects on its own.
          </p>
        </Confirm>
      )}
    </Page>
  )
}

function columnsOf(
  rates: ReadonlyMap<string, number>,
  onClose: ((receiver: ReceiverSummary) => void) | null,
): readonly Column<ReceiverSummary>[] {
  return [
    {
      id: 'receiver',
      title: 'Receiver',
      width: 'minmax(12rem, 2fr)',
      cell: ({ name, address, protocol }) => (
        <span className="worker-cell">
          <strong className="cut" title={name}>
            {name}
          </strong>
          <span className="small faint cut">
            {PROTOCOLS[protocol]} from <span className="num">{address}</span>
          </span>
        </span>
      ),
    },
    {
      id: 'queues',
      title: 'Queues',
      width: 'minmax(7rem, 1.5fr)',
      wideOnly: true,
      cell: ({ queues, keys }) => (
        <span className="soft" title={queues.join('\n')}>
          {queues.join(', ')}
          {keys !== null && <span className="faint"> keys {keys}</span>}
        </span>
      ),
    },
    {
      id: 'unacked',
      title: 'Unacked',
      width: '8rem',
      align: 'end',
      cell: ({ unacked, credits, oldestAt, unackedBytes }) => (
        <span className="worker-cell" title={`${bytesText(unackedBytes)}; limit ${credits}`}>
          <span>
            <Count value={unacked} brief />
            <span className="faint">
              {' of '}
              <Count value={credits} brief />
            </span>
          </span>
          {oldestAt !== null && (
            <span className="faint small">
              for <Duration since={oldestAt} />
            </span>
          )}
        </span>
      ),
    },
    {
      id: 'rate',
      title: 'Acks',
      width: '5.5rem',
      align: 'end',
      wideOnly: true,
      cell: ({ id }) => (
        <span className="num">
          {rates.has(id) ? rateText(rates.get(id) as number) : ''}
          <span className="faint">{rates.has(id) ? '/s' : '–'}</span>
        </span>
      ),
    },
    {
      id: 'acked',
      title: 'Acked',
      width: '6rem',
      align: 'end',
      wideOnly: true,
      cell: ({ acked }) => <Count value={acked} brief />,
    },
    {
      id: 'nacked',
      title: 'Nacked',
      width: '5.5rem',
      align: 'end',
      wideOnly: true,
      cell: ({ nacked }) => <Count value={nacked} brief />,
    },
    {
      id: 'last',
      title: 'Last ack',
      width: '7rem',
      wideOnly: true,
      cell: ({ lastAckAt }) => <TimeAgo at={lastAckAt} />,
    },
    {
      id: 'since',
      title: 'Connected',
      width: '7rem',
      roomyOnly: true,
      cell: ({ connectedAt }) => <TimeAgo at={connectedAt} />,
    },
    ...(onClose === null
      ? []
      : [
          {
            id: 'act',
            title: <span className="unseen">Actions</span>,
            width: '3.5rem',
            cell: (receiver: ReceiverSummary) => (
              <IconButton
                label={`Close ${receiver.name}`}
                icon="close"
                small
                onClick={() => onClose(receiver)}
              />
            ),
          },
        ]),
  ]
}

function NoReceivers(): ReactNode {
  return (
    <EmptyState title="No receivers" icon="receivers">
      Clients in any language receive and acknowledge jobs over gRPC, an HTTP stream or long polling. They are
      listed here while connected.
      <CodeBlock
        code={`curl -N ${location.origin}${urlOf('api/v1/receive')} \\\n  -H "authorization: Bearer $SKEP_TOKEN" \\\n  -H 'content-type: application/json' \\\n  --data-raw '{"queues":["mail.send"],"name":"my-receiver"}'`}
      />
    </EmptyState>
  )
}

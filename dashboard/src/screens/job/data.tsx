import type { ReactNode } from 'react'
import type { JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useMe } from '../../api/me.ts'
import { Card } from '../../ui/card.tsx'
import { JsonView } from '../../ui/json.tsx'

/** Payload, result and headers. */
export function Data({ job, only }: { readonly job: JobDetail['job']; readonly only?: 'brief' }): ReactNode {
  const isShown = useMe()?.payloads ?? false
  const headers = Object.keys(job.headers).length > 0
  if (!isShown) {
    return (
      <Card title="Payload">
        <p className="soft">Your token cannot read payloads, results and logs. Ask an administrator.</p>
      </Card>
    )
  }
  return (
    <>
      <Card title="Payload">
        <JsonView value={job.payload} label="payload" />
      </Card>
      {job.result !== undefined && job.state === 'done' && (
        <Card title="Result">
          <JsonView value={job.result} label="result" />
        </Card>
      )}
      {only !== 'brief' && (
        <Card title="Headers">
          {headers ? <JsonView value={job.headers} label="headers" /> : <p className="soft">No headers.</p>}
        </Card>
      )}
    </>
  )
}

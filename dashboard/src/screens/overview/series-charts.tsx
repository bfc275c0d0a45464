import { type ReactNode, useState } from 'react'
import type { Overview, Series } from '../../../../src/operations/schema/wire-types.ts'
import { rateText } from '../../format/numbers.ts'
import { durationText } from '../../format/times.ts'
import { Card } from '../../ui/card.tsx'
import { Chart } from '../../ui/chart.tsx'
import { Segments } from '../../ui/tabs.tsx'

/** Charts of throughput and latency. */
export function SeriesCharts({
  series,
  deploys = [],
}: {
  readonly series: Series
  readonly deploys?: Overview['deploys']
}): ReactNode {
  const { from, stepMs } = series
  const marks = deploys.map(({ at, version }) => ({ at, text: version }))
  const perSecond = (counts: readonly number[]): (number | null)[] =>
    counts.map((count, index) => {
      const ms = lengthOf(series, index)
      return ms === null ? null : (count * 1_000) / ms
    })
  return (
    <div className="chart-pair">
      <Card title="Throughput">
        <Chart
          from={from}
          stepMs={stepMs}
          label="Jobs per second"
          format={(value) => `${rateText(value)}/s`}
          marks={marks}
          lines={[
            { label: 'Done', values: perSecond(series.done), color: '--green-2', filled: true },
            { label: 'Enqueued', values: perSecond(series.enqueued), color: '--blue-2', dashed: true },
            { label: 'Failed', values: perSecond(series.failed), color: '--red-2' },
            { label: 'Retried', values: perSecond(series.retried), color: '--orange-2' },
          ]}
        />
      </Card>
      <Latency series={series} marks={marks} />
    </div>
  )
}

function Latency({
  series,
  marks,
}: {
  readonly series: Series
  readonly marks: readonly { readonly at: string; readonly text: string }[]
}): ReactNode {
  const [kind, setKind] = useState<'wait' | 'run'>('wait')
  const pick = (percent: 'P50' | 'P95' | 'P99'): readonly (number | null)[] => series[`${kind}${percent}`]
  return (
    <Card
      title="Latency"
      actions={
        <Segments
          label="Latency of"
          value={kind}
          onChange={setKind}
          options={[
            { value: 'wait', label: 'Waiting', title: 'From due until started' },
            { value: 'run', label: 'Running', title: 'From started until completed' },
          ]}
        />
      }
    >
      <Chart
        from={series.from}
        stepMs={series.stepMs}
        label={kind === 'wait' ? 'Waiting time of jobs' : 'Running time of jobs'}
        format={durationText}
        marks={marks}
        lines={[
          { label: 'p50', values: pick('P50'), color: '--blue-2', filled: true },
          { label: 'p95', values: pick('P95'), color: '--orange-2' },
          { label: 'p99', values: pick('P99'), color: '--violet-2', dashed: true },
        ]}
      />
    </Card>
  )
}

/** The elapsed length of a bucket; null for the newest one while it is too short to be meaningful. */
function lengthOf({ from, stepMs }: Series, index: number): number | null {
  const passed = Date.now() - (Date.parse(from) + index * stepMs)
  if (passed >= stepMs) return stepMs
  return passed < stepMs / 5 ? null : passed
}

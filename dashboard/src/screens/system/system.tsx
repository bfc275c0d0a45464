import type { ReactNode } from 'react'
import type { SystemView } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { capitalized } from '../../format/capitalized.ts'
import { bytesText, countText, plural } from '../../format/numbers.ts'
import { durationText } from '../../format/times.ts'
import { chooseDensity, type Density, useDensity } from '../../shell/density.ts'
import { Page } from '../../shell/page.tsx'
import { chooseTheme, type Theme, useTheme } from '../../shell/theme.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Facts, Figure } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Loaded } from '../../ui/page-states.tsx'
import { Badge } from '../../ui/state.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { fixParts } from './fix-parts.ts'
import './system.css'

/** Health of the store, the notifier and this server, and the appearance settings. */
export function SystemScreen(): ReactNode {
  const request = useApi('system.get', {}, { every: 10_000 })
  return (
    <Page
      title="System"
      name="System"
      actions={
        <Button icon="retry" busy={request.isFetching} onClick={() => void request.refetch()}>
          Check again
        </Button>
      }
    >
      <Loaded request={request}>
        {(system) => (
          <>
            <Figures system={system} />
            <Checks checks={system.checks} />
            <div className="system-columns">
              <Card title="Store">
                <Facts
                  facts={[
                    ['Location', <code key="where">{system.store.label}</code>],
                    ['Durability', system.store.durability],
                    ['Level', system.store.level],
                    ['Notifier', <NotifierState key="notifier" notifier={system.notifier} />],
                  ]}
                />
                {system.limits.length > 0 && (
                  <div className="stack tight system-limits">
                    <h3>Limitations of this store</h3>
                    <ul>
                      {system.limits.map((limit) => (
                        <li key={limit}>{limit}</li>
                      ))}
                    </ul>
                  </div>
                )}
              </Card>
              <Card title="This server">
                <Facts
                  facts={[
                    ['Skep', system.server.version],
                    ['Node', system.server.node],
                    ['Uptime', durationText(system.server.upMs)],
                    ['Memory', bytesText(system.server.memoryBytes)],
                    ['Event-loop lag', durationText(system.server.lagMs)],
                    ['Connections', countText(system.server.connections)],
                  ]}
                />
              </Card>
            </div>
          </>
        )}
      </Loaded>
      <Appearance />
    </Page>
  )
}

const NOTIFIER = { up: ['good', 'up'], down: ['bad', 'down'], off: ['plain', 'off'] } as const

function NotifierState({
  notifier: { status, detail },
}: {
  readonly notifier: SystemView['notifier']
}): ReactNode {
  const [tone, label] = NOTIFIER[status]
  return (
    <span>
      <Badge tone={tone}>{label}</Badge> <span className="soft">{detail}</span>
    </span>
  )
}

function Figures({ system: { store, checks, notifier } }: { readonly system: SystemView }): ReactNode {
  const failed = checks.filter(({ status }) => status === 'failed').length
  const warned = checks.filter(({ status }) => status === 'warning').length
  return (
    <div className="figures">
      <Figure
        label="Checks"
        note={failed + warned === 0 ? 'all passed' : `${failed} failed, ${plural(warned, 'warning')}`}
        {...(failed > 0 ? { tone: 'bad' as const } : warned > 0 ? { tone: 'warn' as const } : {})}
      >
        {checks.length - failed - warned} of {checks.length}
      </Figure>
      <Figure label="Store latency" {...(store.latencyMs > 500 ? { tone: 'warn' as const } : {})}>
        {durationText(store.latencyMs)}
      </Figure>
      <Figure label="Notifier" {...(notifier.status === 'down' ? { tone: 'bad' as const } : {})}>
        {notifier.status}
      </Figure>
    </div>
  )
}

const SIGNS = { ok: 'check', warning: 'info', failed: 'errors' } as const
const LABELS = { ok: 'passed', warning: 'warning', failed: 'failed' } as const
const ORDER = { failed: 0, warning: 1, ok: 2 } as const

/** The findings of the doctor, the worst first, each with a fix. */
function Checks({ checks }: { readonly checks: SystemView['checks'] }): ReactNode {
  return (
    <Card title="Doctor" flush>
      <ul className="checks">
        {checks
          .toSorted((a, b) => ORDER[a.status] - ORDER[b.status])
          .map(({ name, status, text, fix }) => (
            <li key={`${name} ${text}`} className={`check check-${status}`}>
              <span className="check-sign">
                <Icon name={SIGNS[status]} />
                <span className="unseen">{LABELS[status]}</span>
              </span>
              <div className="stack tight grow">
                <strong>{capitalized(name)}</strong>
                <span className="soft wrap-anywhere">{text}</span>
                {fix !== null && <Fix fix={fix} />}
              </div>
            </li>
          ))}
      </ul>
    </Card>
  )
}

/** A fix as prose, with a command or SQL to copy. */
function Fix({ fix }: { readonly fix: string }): ReactNode {
  const { prose, code } = fixParts(fix)
  return (
    <>
      {prose !== null && <span className="wrap-anywhere">{prose}</span>}
      {code !== null && <CodeBlock code={code} label="Copy the fix" />}
    </>
  )
}

function Appearance(): ReactNode {
  const theme = useTheme()
  const density = useDensity()
  return (
    <Card title="Appearance">
      <div className="row wraps system-looks">
        <span className="soft">Theme</span>
        <Segments<Theme>
          label="Theme"
          value={theme}
          onChange={chooseTheme}
          options={[
            { value: 'system', label: 'System' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
        />
        <span className="soft">Density</span>
        <Segments<Density>
          label="Density"
          value={density}
          onChange={chooseDensity}
          options={[
            { value: 'normal', label: 'Normal' },
            { value: 'large', label: 'Large' },
            { value: 'dense', label: 'Dense' },
          ]}
        />
      </div>
      <p className="small faint">Saved in this browser.</p>
    </Card>
  )
}

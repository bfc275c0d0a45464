import { type KeyboardEvent, memo, type ReactNode } from 'react'
import { classes } from '../../ui/classes.ts'
import { Icon } from '../../ui/icon.tsx'
import { aboutText, KIND_ICONS, MARK_LABELS, MarkShape } from './step-labels.tsx'
import type { TreeStep, Way } from './step-tree.ts'

/** The steps of the graph as a list, for keyboards, screen readers and phones. */
export function StepList({
  steps,
  selected,
  onSelect,
}: {
  readonly steps: readonly TreeStep[]
  readonly selected: string | null
  readonly onSelect: (id: string) => void
}): ReactNode {
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>('.step-button')]
    all[all.indexOf(document.activeElement as HTMLElement) + step]?.focus()
  }
  return (
    <nav className="step-list" aria-label="Steps" onKeyDown={move}>
      <Steps steps={steps} selected={selected} onSelect={onSelect} />
    </nav>
  )
}

interface StepsProps {
  readonly steps: readonly TreeStep[]
  readonly selected: string | null
  readonly onSelect: (id: string) => void
}

function Steps({ steps, selected, onSelect }: StepsProps): ReactNode {
  return (
    <ol>
      {steps.map((step) => (
        <li key={step.id}>
          <StepButton step={step} isOn={step.id === selected} onSelect={onSelect} />
          {step.ways.map((way, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the ways of a step never move
            <WayList key={index} way={way} selected={selected} onSelect={onSelect} />
          ))}
        </li>
      ))}
    </ol>
  )
}

/** Memoized: there may be a thousand steps. */
const StepButton = memo(function StepButton({
  step,
  isOn,
  onSelect,
}: {
  readonly step: TreeStep
  readonly isOn: boolean
  readonly onSelect: (id: string) => void
}): ReactNode {
  return (
    <button
      type="button"
      className={classes('step-button', step.mark && `step-${step.mark}`, isOn && 'step-on')}
      aria-current={step.mark === 'current' || step.mark === 'waits' ? 'step' : undefined}
      aria-pressed={isOn}
      onClick={() => onSelect(step.id)}
    >
      <span className="step-sign">
        {step.mark === null ? (
          <Icon name={KIND_ICONS[step.kind]} size={13} />
        ) : (
          <MarkShape mark={step.mark} />
        )}
      </span>
      <span className="cut grow">{step.name}</span>
      <span className="faint small cut">{aboutText(step)}</span>
      {step.mark !== null && <span className="unseen">{MARK_LABELS[step.mark]}</span>}
      {step.isCritical && <span className="unseen">on the critical path</span>}
    </button>
  )
})

function WayList({ way, ...rest }: { readonly way: Way } & Omit<StepsProps, 'steps'>): ReactNode {
  if (way.steps.length === 0) return null
  return (
    <div className="step-way">
      {way.label !== null && <span className="step-way-label small faint">{way.label}</span>}
      <Steps steps={way.steps} {...rest} />
    </div>
  )
}

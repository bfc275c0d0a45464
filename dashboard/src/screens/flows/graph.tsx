import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  MiniMap,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
} from '@xyflow/react'
import { memo, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import '@xyflow/react/dist/base.css'
import './graph.css'
import { withoutBidi } from '../../format/bidi.ts'
import { useTheme } from '../../shell/theme.ts'
import { classes } from '../../ui/classes.ts'
import { Icon } from '../../ui/icon.tsx'
import {
  GAP_Y,
  type Layout,
  layoutOf,
  type Placed,
  type PlacedDot,
  type PlacedFrame,
  type PlacedMore,
  type PlacedStep,
} from './layout.ts'
import { aboutText, KIND_ICONS, MARK_LABELS, MarkShape } from './step-labels.tsx'
import type { TreeStep } from './step-tree.ts'

type StepNode = Node<{ readonly placed: PlacedStep }, 'step'>
type FrameNode = Node<{ readonly placed: PlacedFrame }, 'frame'>
type DotNode = Node<{ readonly placed: PlacedDot }, 'dot'>
type MoreNode = Node<{ readonly placed: PlacedMore; readonly onUnfold: (id: string) => void }, 'more'>

/** `pathOptions` exists only on some edge types, so the common type omits it. */
type FlowLine = Edge & { readonly pathOptions: { readonly offset: number } }

type AnyNode = StepNode | FrameNode | MoreNode | DotNode

/** The smallest zoom at which names are legible. */
const READABLE = 0.6
/** Higher than any window; the style sheet sets the limit. */
const FULL_PX = 2_000
const LEAST_PX = 160

const TYPES = { step: memo(StepBox), frame: memo(FrameBox), more: memo(MoreBox), dot: memo(Dot) }

export interface GraphProps {
  readonly steps: readonly TreeStep[]
  readonly selected: string | null
  readonly onSelect: (id: string | null) => void
}

/** The graph of a flow. Loaded as a separate chunk, because most pages do not need it. */
export default function Graph({ steps, selected, onSelect }: GraphProps): ReactNode {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set())
  const theme = useTheme()
  const instance = useRef<ReactFlowInstance<AnyNode, FlowLine> | null>(null)
  /** A step selected in the graph is already visible and is not scrolled to. */
  const chosenHere = useRef(selected)
  const layout = useMemo(() => layoutOf(steps, unfolded), [steps, unfolded])
  const place = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const shown = useRef(layout)
  shown.current = layout
  const chosen = useRef(selected)
  chosen.current = selected
  useEffect(() => {
    if (!place.current) return
    let frame = 0
    const watch = new ResizeObserver(([entry]) => {
      setWidth(entry?.contentRect.width ?? 0)
      cancelAnimationFrame(frame)
      // React Flow updates its own size one frame later, and fits the view to that size.
      frame = requestAnimationFrame(() => {
        frame = requestAnimationFrame(() => {
          if (instance.current) show(instance.current, shown.current, chosen.current)
        })
      })
    })
    watch.observe(place.current)
    return () => {
      cancelAnimationFrame(frame)
      watch.disconnect()
    }
  }, [])
  const nodes = useMemo(
    () =>
      layout.places.map((placed): AnyNode => {
        const base = {
          id: placed.id,
          position: { x: placed.x, y: placed.y },
          width: placed.width,
          height: placed.height,
          draggable: false,
          handles: handlesOf(placed),
        }
        if (placed.kind === 'frame') {
          return { ...base, type: 'frame', data: { placed }, selectable: false, focusable: false, zIndex: -1 }
        }
        if (placed.kind === 'dot') {
          return { ...base, type: 'dot', data: { placed }, selectable: false, focusable: false }
        }
        if (placed.kind === 'more') {
          const onUnfold = (id: string): void => setUnfolded((before) => new Set([...before, id]))
          return { ...base, type: 'more', data: { placed, onUnfold }, selectable: false }
        }
        return {
          ...base,
          type: 'step',
          data: { placed },
          ariaLabel: withoutBidi(labelOf(placed.step)),
          selected: placed.id === selected,
        }
      }),
    [layout, selected],
  )
  const edges = useMemo(
    () =>
      layout.lines.map(
        ({ id, from, to, label, isCritical, isPassed }): FlowLine => ({
          id,
          source: from,
          target: to,
          type: 'smoothstep',
          // Half the gap between rows, so that an edge has one bend instead of two.
          pathOptions: { offset: GAP_Y / 2 },
          ...(label === null ? {} : { label: withoutBidi(label) }),
          className: classes('flow-line', isCritical && 'flow-line-critical', isPassed && 'flow-line-passed'),
          markerEnd: {
            type: MarkerType.ArrowClosed,
            markerUnits: 'userSpaceOnUse',
            width: 12,
            height: 12,
            color: isPassed ? 'var(--green-2)' : 'var(--line-strong)',
          },
          focusable: false,
        }),
      ),
    [layout],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new selection moves the graph, not progress of the run
  useEffect(() => {
    if (selected === null || selected === chosenHere.current) return
    const place = layout.places.find(({ id }) => id === selected)
    const zoom = Math.max(READABLE, instance.current?.getZoom() ?? 1)
    if (place)
      void instance.current?.setCenter(place.x + place.width / 2, place.y + place.height / 2, { zoom })
  }, [selected])
  const choose = (id: string | null): void => {
    chosenHere.current = id
    onSelect(id)
  }
  return (
    <div
      className="flow-graph"
      ref={place}
      style={{ '--flow-height': `${heightFor(layout, width)}px` } as never}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        colorMode={theme}
        onInit={(flow) => {
          instance.current = flow
          show(flow, layout, selected)
        }}
        minZoom={0.02}
        maxZoom={1.6}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        // Flows can have a thousand steps, so only visible ones are rendered.
        onlyRenderVisibleElements={nodes.length > 150}
        onNodeClick={(_, node) => node.type === 'step' && choose(node.id)}
        onPaneClick={() => choose(null)}
        onKeyDown={(event) => {
          const id = (event.target as HTMLElement).closest('.react-flow__node-step')?.getAttribute('data-id')
          if (id && (event.key === 'Enter' || event.key === ' ')) choose(id)
        }}
        ariaLabelConfig={{ 'node.a11yDescription.default': 'Press Enter to show details of this step.' }}
      >
        <Background gap={20} size={1} />
        <Controls showInteractive={false} />
        {nodes.length > 25 && <MiniMap pannable zoomable nodeClassName={miniClass} ariaLabel="Minimap" />}
      </ReactFlow>
    </div>
  )
}

/**
 * The connection points of a node. Given up front; otherwise React Flow would render every node once, visible
 * or not, to measure it.
 */
function handlesOf({ kind, width, height }: Placed): NonNullable<AnyNode['handles']> {
  if (kind === 'frame' || kind === 'more') return []
  const handle = { x: width / 2, width: 1, height: 1 }
  return [
    { ...handle, type: 'target', position: Position.Top, y: 0 },
    { ...handle, type: 'source', position: Position.Bottom, y: height - 1 },
  ]
}

/**
 * The height of the graph when it fits the width. A graph too wide to be legible gets the full height and is
 * panned.
 */
function heightFor(layout: Layout, width: number): number {
  const zoom = Math.min(1, width / (layout.width + 48))
  return zoom < READABLE ? FULL_PX : Math.max(LEAST_PX, (layout.height + 48) * zoom)
}

/** Shows the whole graph if it is legible, else the selected step, the current step, or the start. */
function show(
  flow: ReactFlowInstance<AnyNode, FlowLine>,
  { places, width, height }: Layout,
  selected: string | null,
): void {
  const { clientWidth = 0, clientHeight = 0 } = document.querySelector('.flow-graph') ?? {}
  const whole = Math.min(clientWidth / (width + 48), clientHeight / (height + 48))
  if (whole >= READABLE) {
    void flow.fitView({ maxZoom: 1, padding: 0.06 })
    return
  }
  const target =
    places.find(({ id }) => id === selected) ??
    places.find((place) => place.kind === 'step' && isCurrent(place.step))
  const zoom = Math.max(READABLE, Math.min(1, clientWidth / (width + 48)))
  if (target) void flow.setCenter(target.x + target.width / 2, target.y + target.height / 2, { zoom })
  else void flow.setViewport({ x: clientWidth / 2 - (width / 2) * zoom, y: 24, zoom })
}

function isCurrent({ mark, ways }: TreeStep): boolean {
  return ways.length === 0 && (mark === 'current' || mark === 'waits' || mark === 'failed')
}

function miniClass(node: Node): string {
  const step = node.type === 'step' ? (node as StepNode).data.placed.step : null
  return step ? `flow-mini flow-mini-${step.mark ?? 'plain'}` : 'flow-mini-none'
}

function labelOf(step: TreeStep): string {
  return `${step.name}, ${aboutText(step)}${step.mark === null ? '' : `, ${MARK_LABELS[step.mark]}`}`
}

function StepBox({ data: { placed }, selected }: NodeProps<StepNode>): ReactNode {
  const { step, height } = placed
  const isSmall = height < 50
  const { members, mark } = step
  return (
    <div
      className={classes(
        'flow-step',
        `flow-kind-${step.kind}`,
        mark !== null && `flow-mark-${mark}`,
        step.isCritical && 'flow-critical',
        selected && 'flow-selected',
      )}
    >
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <span className="flow-sign">
        {mark === null ? <Icon name={KIND_ICONS[step.kind]} size={13} /> : <MarkShape mark={mark} />}
      </span>
      <span className="flow-text">
        <span className="flow-name cut" title={step.name}>
          {step.name}
        </span>
        {!isSmall && (
          <span className="flow-about cut" title={aboutText(step)}>
            {step.undo !== null && <span title={`Undone by ${step.undo}`}>↶ </span>}
            {aboutText(step)}
          </span>
        )}
      </span>
      {members !== null && (
        <span className="flow-bar" aria-hidden="true">
          <span
            className="flow-bar-done"
            style={{ width: `${(100 * members.done) / Math.max(1, members.size)}%` }}
          />
          <span
            className="flow-bar-failed"
            style={{ width: `${(100 * members.failed) / Math.max(1, members.size)}%` }}
          />
        </span>
      )}
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  )
}

function FrameBox({ data: { placed } }: NodeProps<FrameNode>): ReactNode {
  return (
    <div
      className={classes(
        'flow-frame',
        placed.isLoop && 'flow-frame-loop',
        placed.run && `flow-run-${placed.run.status}`,
      )}
    >
      <span className="flow-frame-label cut">
        {placed.isLoop && <Icon name="retry" size={12} />}
        {placed.label}
      </span>
    </div>
  )
}

function MoreBox({ data: { placed, onUnfold } }: NodeProps<MoreNode>): ReactNode {
  return (
    <button type="button" className="flow-more nodrag" onClick={() => onUnfold(placed.of)}>
      {placed.count} more branches
    </button>
  )
}

function Dot({ data: { placed } }: NodeProps<DotNode>): ReactNode {
  return (
    <span className={classes('flow-dot', placed.isPassed && 'flow-dot-passed')}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </span>
  )
}

/** A small parser of the text format of Prometheus, strict where the format is. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly samples: readonly Sample[]
}

export interface Exposition {
  readonly families: ReadonlyMap<string, Family>
  family(name: string): Family
  /** The value of the one sample of this name that has these labels. */
  value(name: string, labels: Readonly<Record<string, string>>): number | undefined
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy

export function parseExposition(text: string): Exposition {
  if (!text.endsWith('\n')) throw new Error('The last line does not end.')
  const families = new Map<string, { name: string; type: string; samples: Sample[] }>()
  const seen = new Set<string>()
  let current: { name: string; type: string; samples: Sample[] } | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const meta = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line)
    if (meta) {
      const [, what, name, rest] = meta as unknown as [string, string, string, string]
      if (what === 'HELP') {
        if (families.has(name)) throw new Error(`${name} is there twice.`)
        current = { name, type: 'untyped', samples: [] }
        families.set(name, current)
      } else if (current?.name === name && current.samples.length === 0) {
        current.type = rest
      } else throw new Error(`The type of ${name} stands in the wrong place.`)
      continue
    }
    const sample = parseSample(line)
    const base: string =
      current?.type === 'histogram' ? sample.name.replace(/_(bucket|sum|count)$/, '') : sample.name
    if (current === undefined || current.name !== base)
      throw new Error(`${sample.name} does not stand with its family.`)
    const key = `${sample.name} ${JSON.stringify(
      Object.keys(sample.labels)
        .sort()
        .map((label) => [label, sample.labels[label]]),
    )}`
    if (seen.has(key)) throw new Error(`${key} is there twice.`)
    seen.add(key)
    current.samples.push(sample)
  }
  const all = [...families.values()].flatMap(({ samples }) => samples)
  return {
    families,
    family: (name) => {
      const found = families.get(name)
      if (!found) throw new Error(`There is no ${name}.`)
      return found
    },
    value: (name, labels) => {
      const wanted = Object.entries(labels)
      const found = all.filter(
        (sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value),
      )
      if (found.length > 1) throw new Error(`There are ${found.length} of ${name}.`)
      return found[0]?.value
    },
  }
}

function parseSample(line: string): Sample {
  const match = SAMPLE.exec(line)
  if (!match) throw new Error(`This is no sample: ${line}`)
  const [, name, text = '', number] = match as unknown as [string, string, string | undefined, string]
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const label = LABEL.exec(text)
    if (!label) throw new Error(`These are no labels: ${text}`)
    labels[label[1] as string] = (label[2] as string).replace(/\\(.)/g, (_, sign: string) =>
      sign === 'n' ? '\n' : sign,
    )
  }
  const value = number === '+Inf' ? Infinity : number === '-Inf' ? -Infinity : Number(number)
  if (number !== 'NaN' && Number.isNaN(value)) throw new Error(`This is no number: ${number}`)
  return { name, labels, value }
}

/** One column of the tables: what was measured, and where. */
export interface Place {
  readonly scenario: string
  readonly measure: string
}

/** Rates and ratios are better when higher; times, memory, bytes and CPU when lower. The name's unit tells. */
export function higherIsBetter({ measure }: Place): boolean {
  return /(\/s|\bratio)$/.test(measure)
}

/** How many times better `a` is than `b`: above 1 means ahead, whichever way the measure points. */
export function advantage(place: Place, a: number, b: number): number {
  return higherIsBetter(place) ? a / b : b / a
}

/** About three digits, for people: `88,512`, `12.4`, `0.57`. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const decimals = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
}

/** `17.2 ×`, `1.41 ×`. */
export function times(ratio: number): string {
  return `${show(ratio)} ×`
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

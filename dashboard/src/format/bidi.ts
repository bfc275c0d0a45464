/** Bidirectional control characters, which can make one name look like another. */
const BIDI = /\p{Bidi_Control}/gu

/** Escapes these characters, such as `\u202e`, so that they cannot reorder text. */
export function withoutBidi(text: string): string {
  return text.replace(BIDI, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

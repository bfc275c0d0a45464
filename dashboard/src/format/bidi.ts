/** Marks that change the direction of the characters after them: with them a name looks like another name. */
const BIDI = /\p{Bidi_Control}/gu

/** The text with these marks written out: `\u202e` instead of text that runs backwards. Everything else stays. */
export function withoutBidi(text: string): string {
  return text.replace(BIDI, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

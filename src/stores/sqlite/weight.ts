import { JOB_BYTES } from '../../core/weight.ts'

const TEXTS = ['headers', 'overrides', 'lane', 'unique_key', 'result', 'failure']

/** Of the notes the first line that is kept tells how many bytes came before it. */
function weight(job: string, cancelReason: string): string {
  const texts = [...TEXTS.map((name) => `${job}.${name}`), cancelReason]
  return `${JOB_BYTES} + octet_length(${job}.payload) + ${texts.map((text) => `ifnull(octet_length(${text}), 0)`).join(' + ')}
    + ifnull((select h.bytes + ifnull(octet_length(h.note), 0)
        - ifnull((select start from skep_note_lines i where i.id = h.id and i.space = h.space order by i.place limit 1), h.bytes)
      from skep_notes h where h.id = ${job}.id and h.space = ${job}.space), 0)`
}

/** What a job weighs, see `core/weight.ts`: a hot one `j` with its lease `l`, and one of the archive `z`. */
export const HOT_WEIGHT: string = weight('j', 'l.cancel_reason')
export const ARCHIVE_WEIGHT: string = weight('z', 'z.cancel_reason')

/**
 * A queue as one number, by which the busiest indexes have it. They are written with every job, and again when it starts, and each
 * time some twenty keys are compared: two texts that are nearly always the same cost more there than all else. Two queues with
 * the same number do no harm, so whoever searches asks for the texts too.
 */
export function queueHash(space: string, queue: string): string {
  return `hashtextextended(${queue}, hashtextextended(${space}, 0))`
}

/** The jobs of a queue, found by its number. */
export function inQueue(job: string, space: string, queue: string): string {
  return `${queueHash(`${job}.space`, `${job}.queue`)} = ${queueHash(space, queue)} and ${job}.space = ${space} and ${job}.queue = ${queue}`
}

/**
 * Whether a job is ready and its place in line is not its age: it has a lane or a priority. Such jobs are in an index by due time, for
 * counts alone. Written so that the planner uses that index only where this very expression is asked for.
 */
export function isOutOfAge(job: string): string {
  const of = job === '' ? '' : `${job}.`
  return `(case when ${of}state = 1 then ${of}lane is not null or ${of}priority <> 0 or ${of}is_strict is true else false end)`
}

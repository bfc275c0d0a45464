/** All limits in one place. They are the same on every store. */
export const LIMITS = {
  /** A queue's or space's name. */
  nameBytes: 128,
  /** A unique key. */
  keyBytes: 512,
  /** A payload or result as JSON text, unless the client is configured otherwise. */
  payloadBytes: 262_144,
  /** The maximum of the client's `payloadBytes`. */
  payloadBytesMax: 4_194_304,
  payloadDepth: 64,
  payloadKeys: 10_000,
  headers: 64,
  headersBytes: 8_192,
  /** Jobs in one `enqueueMany`. */
  batchJobs: 100_000,
  /** Jobs added to an open group in one call. */
  addedJobs: 10_000,
  /** Jobs of several callers that share one insert. The jobs of one caller are never split. */
  storeBatch: 1_000,
  /** Undoable steps of one run, including iterations of loops. */
  undoSteps: 1_000,
  /** Jobs on one page of a list. */
  pageJobs: 200,
  /** The stored size of the jobs on one page of a server's list. */
  pageBytes: 4_194_304,
  priority: 100,
  errorMessageBytes: 4_096,
  errorStackBytes: 16_384,
  errorCauses: 5,
  reasonBytes: 4_096,
  /** A log line of a handler, with its fields. */
  noteLineBytes: 4_096,
  /** The number of lines kept per job, and their bytes: the newest. */
  noteLines: 1_000,
  notesBytes: 262_144,
  /** The note of a progress report. */
  progressNoteBytes: 512,
  /** How long log lines are kept after the last one, unless the job is removed earlier: seven days. */
  notesKeptMs: 604_800_000,
  /** Lines on one page. */
  pageLines: 1_000,
  /** The shortest interval of a schedule. */
  everyMs: 1_000,
  /** A cron expression. */
  cronBytes: 256,
  /** Schedules in one call to a store. */
  schedulesBatch: 500,
  /** The maximum delay of a job: a hundred years. */
  delayMs: 3_153_600_000_000,
} as const

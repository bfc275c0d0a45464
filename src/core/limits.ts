/** Every bound in one place. They are the same on every store. */
export const LIMITS = {
  /** A queue's or space's name. */
  nameBytes: 128,
  /** A unique key. */
  keyBytes: 512,
  /** A payload or result as JSON text, unless the client is told otherwise. */
  payloadBytes: 262_144,
  /** What a client may raise `payloadBytes` to. */
  payloadBytesMax: 4_194_304,
  payloadDepth: 64,
  payloadKeys: 10_000,
  headers: 64,
  headersBytes: 8_192,
  /** Jobs in one `enqueueMany`. */
  batchJobs: 100_000,
  /** Jobs that join an open group in one call. */
  addedJobs: 10_000,
  /** Jobs of several callers that share one insert. The jobs of one caller are never split, however many. */
  storeBatch: 1_000,
  /** Steps of one run that can be undone, with the rounds of loops. */
  undoSteps: 1_000,
  /** Jobs on one page of a list. */
  pageJobs: 200,
  /** What is stored of the jobs on one page of a server's list. */
  pageBytes: 4_194_304,
  priority: 100,
  errorMessageBytes: 4_096,
  errorStackBytes: 16_384,
  errorCauses: 5,
  reasonBytes: 4_096,
  /** A line that a handler logs, its fields included. */
  noteLineBytes: 4_096,
  /** The lines that are kept of one job, and their bytes: the newest. */
  noteLines: 1_000,
  notesBytes: 262_144,
  /** What goes with a progress. */
  progressNoteBytes: 512,
  /** How long notes are kept after the last of them, if their job stays that long: seven days. */
  notesKeptMs: 604_800_000,
  /** Lines on one page. */
  pageLines: 1_000,
  /** The shortest interval of a schedule. */
  everyMs: 1_000,
  /** A cron expression. */
  cronBytes: 256,
  /** Schedules in one call to a store. */
  schedulesBatch: 500,
  /** The furthest a job may be delayed: a hundred years. */
  delayMs: 3_153_600_000_000,
} as const

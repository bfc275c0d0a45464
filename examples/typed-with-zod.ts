// A schema types both ends of a queue, and is checked at both. Any Standard Schema will do: zod, valibot, arktype.
import { createSkep, queue, SkepError } from 'skep'
import { memoryStore } from 'skep/memory'
import { z } from 'zod'

const skep = createSkep({ store: memoryStore() })
const buildReport = queue('report.build', {
  payload: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/), pages: z.coerce.number().default(1) }),
  result: z.object({ url: z.url() }),
})

skep.worker([
  buildReport.handle(({ payload }) => {
    // month is a string, pages is a number: also when it was enqueued as a text or not at all.
    console.log(`${payload.pages + 1} pages for ${payload.month}`)
    return { url: `https://example.com/${payload.month}.pdf` }
  }),
])

const job = await skep.enqueue(buildReport, { month: '2026-11', pages: '4' })
const { url } = await job.result()
console.log(url)

try {
  await skep.enqueue(buildReport, { month: 'November' })
} catch (error) {
  if (!(error instanceof SkepError)) throw error
  console.log(error.code)
}

await skep.close()

// Prints:
// 5 pages for 2026-11
// https://example.com/2026-11.pdf
// PAYLOAD_INVALID

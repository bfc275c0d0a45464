import { UNSEEN_MS } from '../../../src/core/jobs/unhandled.ts'
import type { AttendRecord, HandledRecord, Violation } from '../history.ts'
import type { Asked, Invariant, View } from './view.ts'

/**
 * I-25: ready jobs are unhandled if, and only if, no worker that handles their queue has sent a heartbeat lately. Where the store's
 * clock went back a heartbeat may count for longer, and then nothing is judged.
 */
export const unhandledIsTrue: Invariant = function* (view) {
  if (view.clocks.length > 0) return
  for (const look of view.handled) {
    if (look.answer?.type !== 'ok') continue
    for (const { queue, ready, unhandled } of look.answer.queues ?? []) {
      if (ready === 0) continue
      if (unhandled > 0 && hasSurely(view, look, queue))
        yield wrong(queue, 'unhandled while a worker handled them')
      if (unhandled === 0 && !mayHave(view, look, queue)) yield wrong(queue, 'handled while no worker did')
    }
  }
}

/** From before the question until after the answer there was a worker, with a recent heartbeat, of which nobody took leave. */
function hasSurely(view: View, { invoke, answer }: Asked<HandledRecord>, queue: string): boolean {
  return view.attends.some(
    (attend) =>
      attend.answer?.type === 'ok' &&
      attend.invoke.queues.includes(queue) &&
      view.order.follows(invoke, attend.answer) &&
      attend.invoke.at > (answer as HandledRecord).at - UNSEEN_MS + view.facts.slackMs &&
      !view.departs.some(
        (depart) =>
          depart.type === 'invoke' &&
          depart.workerId === attend.invoke.workerId &&
          view.order.follows(answer as HandledRecord, depart),
      ),
  )
}

/** A worker may have said so shortly before, and was not taken off the list. One whose answer never came may have said it at any time. */
function mayHave(view: View, { invoke, answer }: Asked<HandledRecord>, queue: string): boolean {
  return view.attends.some(
    (attend) =>
      attend.invoke.queues.includes(queue) &&
      attend.answer?.type !== 'fail' &&
      view.order.follows(answer as HandledRecord, attend.invoke) &&
      (attend.answer?.type !== 'ok' ||
        (attend.answer.at >= invoke.at - UNSEEN_MS - view.facts.slackMs &&
          !view.departs.some(
            (depart) =>
              depart.type === 'ok' &&
              depart.workerId === attend.invoke.workerId &&
              view.order.follows(depart, attend.answer as AttendRecord) &&
              view.order.follows(invoke, depart),
          ))),
  )
}

function wrong(about: string, how: string): Violation {
  return { invariant: 'I-25', kind: 'unhandled-wrong', about, message: `Its jobs were said to be ${how}.` }
}

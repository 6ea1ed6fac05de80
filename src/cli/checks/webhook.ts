import { randomUUID } from 'node:crypto'
import { createPing } from '../../events/event-body.ts'
import { createEventSender } from '../../events/send-event.ts'
import { findDescribedRemedy } from '../../outgoing/connection-failures.ts'
import type { CommandContext } from '../command.ts'
import type { CheckReport } from './report.ts'

/** Send a signed `ping` to the webhook, if there is one. */
export async function checkWebhook({ secrets, clock }: CommandContext, report: CheckReport): Promise<void> {
  if (secrets.webhook === null) return
  const sender = createEventSender(secrets.webhook, secrets.proxies, clock)
  const failure = await sender.send(createPing(randomUUID(), clock.nowMs()))
  await sender.close()
  if (failure === null) report.addOk('webhook', 'accepts a signed ping')
  else
    report.addProblem(
      'webhook',
      `does not accept a signed ping: ${failure}`,
      findDescribedRemedy(failure, 'VITRINE_EVENTS_URL') ??
        'Check VITRINE_EVENTS_URL and VITRINE_EVENTS_SECRET, and that the receiver answers with a status from 200 to 299.',
    )
}

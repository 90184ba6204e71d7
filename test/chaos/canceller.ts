/** One cancellation, of a directive or of a whole request, and its answer.
 *  It must never send it again. */
import type { CancelRecord, RequestHistory } from './history.ts';
import type { Chance } from './random.ts';
import { exchange } from './transport.ts';
import type { WireCancellation } from './wire.ts';

export interface Stage {
  readonly history: RequestHistory;
  readonly apis: readonly string[];
  readonly chance: Chance;
}

export async function cancelOnce(target: string | null, { history, apis, chance }: Stage): Promise<void> {
  const api = chance.pick(apis);
  const record: CancelRecord = {
    target,
    api,
    sentAt: Date.now(),
    answeredAt: Number.POSITIVE_INFINITY,
    status: 'lost',
    verdicts: new Map(),
  };
  history.cancels.push(record);
  const request = `/v1/requests/${history.requestId}`;
  const path = target === null ? `${request}/cancel` : `${request}/directives/${target}/cancel`;
  const { answeredAt, status, body } = await exchange(api, 'POST', path, { body: {} });
  record.answeredAt = answeredAt;
  record.status = status;
  if (status !== 200 && status !== 202) return;
  record.verdicts = new Map(
    (body as WireCancellation).directives.map(({ id, status: verdict, result }) => [
      id,
      { status: verdict, resultId: result?.id ?? null },
    ]),
  );
}

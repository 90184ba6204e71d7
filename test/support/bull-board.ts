/** A Bull Board without its pages: what its browser would ask, asked directly.
 *  It must never know how a lane is kept; it reads BullMQ's own queues. */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { Queue } from 'bullmq';

type ServerAdapter = Parameters<typeof createBullBoard>[0]['serverAdapter'];
type Routes = Parameters<ServerAdapter['setApiRoutes']>[0];
type Queues = Parameters<ServerAdapter['setQueues']>[0];

/** Returns how to ask it: the answer to a request of its API. It checks its own answers against their schema. */
export function openBoard(queue: Queue) {
  let routes: Routes = [];
  let queues: Queues = new Map();
  const adapter: ServerAdapter = {
    setApiRoutes: (given: Routes) => {
      routes = given;
      return adapter;
    },
    setQueues: (given: Queues) => {
      queues = given;
      return adapter;
    },
    setViewsPath: () => adapter,
    setStaticPath: () => adapter,
    setEntryRoute: () => adapter,
    setErrorHandler: () => adapter,
    setUIConfig: () => adapter,
  };
  const options = { uiConfig: {}, validateResponses: true };
  createBullBoard({ queues: [new BullMQAdapter(queue)], serverAdapter: adapter, options });

  return async (method: string, path: string, query: object = {}, params: object = {}): Promise<unknown> => {
    const route = routes.find(
      (each) => [each.method].flat().includes(method as never) && [each.route].flat().includes(path),
    );
    if (!route)
      throw new Error(
        `the board has no ${method} ${path}: ${routes.map((each) => String(each.route)).join()}`,
      );
    const request = {
      queues,
      uiConfig: {},
      query,
      params: { queueName: queue.name, ...params },
      body: {},
      headers: {},
    };
    const { status = 200, body } = await route.handler(request);
    if (status >= 400) throw new Error(`the board answers ${status}: ${JSON.stringify(body)}`);
    return body;
  };
}

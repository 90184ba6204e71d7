// The routes of the pages at which callers log in at servers.
// Must never serve a page of a login more often than its pace allows.
import type { ApiFeature } from '../../http/api.ts';
import type { ApiReply, ApiRequest, App } from '../../http/app.ts';
import { answer } from '../host-login/page.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { LoginPages } from './login.ts';
import { endPage, PATH } from './pages.ts';

const BUSY = 'Too many callers log in at once: try again in a minute.';

export function loginRoutes(pages: LoginPages): ApiFeature {
  return {
    routes(app) {
      app.register(async (scope: App) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser(
          'application/x-www-form-urlencoded',
          { parseAs: 'string' },
          (_request, body, done) => done(null, body),
        );
        route(scope, pages, 'GET', `${PATH}/:server`, pages.show);
        route(scope, pages, 'POST', `${PATH}/:server`, pages.act);
        route(scope, pages, 'GET', `${PATH}/:server/issuer`, pages.toIssuer);
        route(scope, pages, 'GET', `${PATH}/:server/callback`, pages.finish);
      });
    },
  };
}

type Handler = (request: ApiRequest, reply: ApiReply) => Promise<ApiReply>;

/** A HEAD must not use up a code. */
function route(app: App, pages: LoginPages, method: 'GET' | 'POST', url: string, handler: Handler): void {
  app.route({
    schema: { hide: true },
    config: { rule: 'public' },
    exposeHeadRoute: false,
    method,
    url,
    handler: async (request: ApiRequest, reply: ApiReply) =>
      whileAvailable(async () => {
        if (await pages.isSpare(request.ip)) return handler(request, reply);
        return answer(reply, endPage('Busy', BUSY), 429);
      }),
  } as never);
}

/** The part of the library `oidc-provider` that this folder uses; it has no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface Interaction {
    readonly uid: string;
    /** Members as the routes of this folder write them: each exactly once. */
    readonly params: Readonly<Record<'client_id' | 'redirect_uri' | 'resource' | 'scope', string>>;
  }

  export interface Client {
    readonly clientId: string;
    readonly clientName?: string;
  }

  export interface Grant {
    addResourceScope(resource: string, scope: string): void;
    rejectResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  interface TokenModel {
    readonly prototype: { generateTokenId: (this: { format?: string }) => string };
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    proxy: boolean;
    readonly Client: { find(id: unknown): Promise<Client | undefined> };
    readonly Grant: new (members: { accountId: string; clientId: string }) => Grant;
    readonly AccessToken: TokenModel;
    readonly RefreshToken: TokenModel;
    use(
      layer: (
        context: {
          readonly status: number;
          readonly oidc?: { readonly entities: { readonly RotatedRefreshToken?: { readonly jti: string } } };
        },
        next: () => Promise<void>,
      ) => Promise<void>,
    ): void;
    on(
      event: 'server_error',
      listener: (context: { status: number; body: unknown }, error: Error) => void,
    ): void;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionResult(request: IncomingMessage, response: ServerResponse, result: object): Promise<string>;
  }

  export const errors: {
    readonly InvalidClientAuth: new (detail: string) => Error;
    readonly InvalidTarget: new (description?: string) => Error;
    readonly InvalidGrant: new (description: string) => Error;
    readonly TemporarilyUnavailable: new (description: string) => Error;
  };

  export const interactionPolicy: {
    base(): { get(name: string): { readonly checks: { add(check: unknown): void } } };
    readonly Check: new (
      reason: string,
      description: string,
      error: string,
      check: (context: { oidc: { result?: { login?: unknown } } }) => boolean,
    ) => unknown;
  };
}

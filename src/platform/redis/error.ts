// Errors of Redis, without the arguments of their commands: these hold what callers sent and what tools answered.
// Must never change how an error is recognised: its class, message and code stay.
import { ReplyError } from 'ioredis';

/** An error within an answer of Redis, as the client rejects with it when it is the whole answer. */
export function replyError(message: string): Error {
  return new (ReplyError as new (message: string) => Error)(message);
}

interface FailedCommand {
  readonly name?: unknown;
}

/** The client attaches the whole command to every error, and a log of the error prints it too. */
export function keepArgumentsOutOfErrors(): void {
  const errors = Object.getPrototypeOf((ReplyError as { prototype: object }).prototype) as object;
  Object.defineProperty(errors, 'command', {
    configurable: true,
    set(this: object, command: FailedCommand | undefined) {
      const value = { name: command?.name };
      Object.defineProperty(this, 'command', { value, enumerable: true, configurable: true, writable: true });
    },
  });
}

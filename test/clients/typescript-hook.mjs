/** Gives openapi-typescript the TypeScript 5 that it builds types with: the compiler of this package, 7, has no such interface. */
import { registerHooks } from 'node:module';

const COMPILER = `data:text/javascript,export { ts as default } from ${JSON.stringify(import.meta.resolve('@ts-morph/common'))}`;

registerHooks({
  resolve: (name, context, next) =>
    name === 'typescript' ? { url: COMPILER, shortCircuit: true } : next(name, context),
});

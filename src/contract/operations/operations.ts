// All HTTP operations: each route with its schemas and its description, and the arguments and answers of the client methods that follow from them.
import type * as z from 'zod';
import type { Operation, WireType } from './operation.ts';
import { REQUEST_OPERATIONS } from './requests.ts';
import { SERVICE_OPERATIONS } from './service.ts';
import { WORK_OPERATIONS } from './work.ts';
import type { OperationName } from './routes.ts';

/** Named by reference: the declaration of a spread would repeat every schema. */
type All = typeof WORK_OPERATIONS & typeof REQUEST_OPERATIONS & typeof SERVICE_OPERATIONS;

/** In the order of the description. */
export const OPERATIONS: { readonly [Name in OperationName]: All[Name] } = {
  ...WORK_OPERATIONS,
  ...REQUEST_OPERATIONS,
  ...SERVICE_OPERATIONS,
};

/** Description of an operation by its name. */
export function operation(name: OperationName): Operation {
  return OPERATIONS[name];
}

/** Schema of a wire type with or without a name. */
export function schemaOf(type: WireType): z.ZodType {
  return isNamed(type) ? type[1] : type;
}

type NamedType = Exclude<WireType, z.ZodType>;

function isNamed(type: WireType | undefined): type is NamedType {
  return Array.isArray(type);
}

/** The types of bodies and of answers that are published under a name. */
export function publishedTypes(of: 'body' | 'answer'): Record<string, z.ZodType> {
  const types = Object.values<Operation>(OPERATIONS).flatMap((each) => [
    each[of],
    ...(of === 'answer' ? contentsOf(each) : []),
  ]);
  return Object.fromEntries(types.filter(isNamed));
}

function contentsOf({ others = {} }: Operation): WireType[] {
  return Object.values(others).flatMap((other) =>
    typeof other === 'string' ? [] : Object.values(other.content).map(({ schema }) => schema),
  );
}

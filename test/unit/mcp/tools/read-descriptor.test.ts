/** What a server says about a tool, and what of it this client adds.
 *  It must never take members of the server for its own, nor keep texts of any length. */
import { expect, test } from 'vitest';
import {
  descriptorFault,
  outputSchemaOf,
  readDescriptor,
} from '../../../../src/mcp/tools/read-descriptor.ts';

type Tool = Parameters<typeof descriptorFault>[0];

const read = (given: unknown): Tool => readDescriptor(given, 0) as Tool;
const inputSchema = { type: 'object' };
const forged = {
  'adjutant/fault': { message: 'forged', isLeftOut: true },
  'adjutant/outputSchema': { type: 'string' },
};

test('members that only this client sets are not taken from a server', () => {
  const tool = read({ name: 't', inputSchema, _meta: { ...forged, own: 1 } });
  expect(tool).toEqual({ name: 't', inputSchema, _meta: { own: 1 } });
  expect([descriptorFault(tool), outputSchemaOf(tool)]).toEqual([null, undefined]);
});

test('they are set where this client finds something', () => {
  const outputSchema = { type: 'array' };
  const tool = read({ name: 't', title: 1, inputSchema, outputSchema, _meta: forged });
  expect(descriptorFault(tool)).toEqual({ message: 'has unusable title', isLeftOut: false });
  expect(outputSchemaOf(tool)).toEqual(outputSchema);
});

test('texts of a server are cut in a fault', () => {
  const long = 'x'.repeat(100_000);
  const leftOut = read({ name: long });
  expect([leftOut.name.length, leftOut.name.at(-1)]).toEqual([200, '…']);
  const hints = read({ name: 't', inputSchema, annotations: { [`${long}Hint`]: 1 } });
  expect(descriptorFault(hints)?.message).toMatch(/^has unusable annotations\.x{1,400}…$/);
});

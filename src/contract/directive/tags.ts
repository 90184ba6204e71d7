// The tags of a request: short texts in `metadata.tags`, by which it is found again.
// Must never accept a tag that no filter could name.
import * as z from 'zod';
import { isObject } from '../json/json-object.ts';
import { jsonObjectSchema } from '../identifiers.ts';

const MOST_TAGS = 16;
/** Maximum length of a tag, in characters. */
export const LONGEST_TAG = 64;

/** Schema of a tag. */
export const tagSchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,64}$/u, `1 to ${LONGEST_TAG} characters, no control characters`);

const tagsSchema = z.array(tagSchema).max(MOST_TAGS, `at most ${MOST_TAGS} tags`);

/** Schema of the caller's metadata of a directive or run; only `tags` has a meaning for the service. */
export const submittedMetadataSchema = jsonObjectSchema
  .superRefine(({ tags }, context) => {
    if (tags === undefined) return;
    for (const issue of tagsSchema.safeParse(tags).error?.issues ?? [])
      context.addIssue({ code: 'custom', path: ['tags', ...issue.path], message: issue.message });
  })
  .meta({
    properties: {
      tags: {
        type: 'array',
        maxItems: MOST_TAGS,
        items: { type: 'string', maxLength: LONGEST_TAG },
        description: `Texts by which the request is found, at most ${MOST_TAGS} of at most ${LONGEST_TAG} characters each. Default: none.`,
      },
    },
  })
  .default({});

/** Those of stored metadata; what has another form are none. */
export function tagsOf(metadata: unknown): readonly string[] {
  const read = tagsSchema.safeParse(isObject(metadata) ? metadata['tags'] : undefined);
  return read.success ? read.data : [];
}

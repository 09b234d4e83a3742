import { meta } from './meta-schemas.ts';
import type { Content, OpenApiSchema, Response } from './open-api.ts';
import { schemaReference } from './open-api.ts';

const descriptions = {
  BadRequest: 'The body, a parameter or a selector cannot be read; a field to select or sort by is not indexed.',
  NotFound: 'No such object.',
  Conflict:
    'The name exists; or version, resourceVersion or uid differs from the stored object; or another manager owns a field of an apply.',
  Expired: 'The revision is no longer kept: list again.',
  UnsupportedMediaType: 'The Content-Type is not one of those listed.',
  Invalid: 'A rule of the schema or of metadata is broken; every violation is named, with its field.',
  Error: 'Any other error.',
} as const;

const codes: Readonly<Record<keyof typeof descriptions, string>> = {
  BadRequest: '400',
  NotFound: '404',
  Conflict: '409',
  Expired: '410',
  UnsupportedMediaType: '415',
  Invalid: '422',
  Error: 'default',
};

export type ErrorName = Exclude<keyof typeof descriptions, 'Error'>;

const errorContent: Content = {
  'application/json': { schema: schemaReference(meta.status) },
  'application/problem+json': { schema: schemaReference(meta.problem) },
};

/** The errors to which operations refer, by name. */
export const documentedErrors: Readonly<Record<string, Response>> = Object.fromEntries(
  Object.entries(descriptions).map(([name, description]) => [name, { description, content: errorContent }]),
);

/** Returns the error responses of one operation, by status code. `default` is for all errors that are not named. */
export function errorsOf(...names: readonly ErrorName[]): Readonly<Record<string, Response>> {
  return Object.fromEntries([...names, 'Error' as const].map((name) => [codes[name], responseReference(name)]));
}

/**
 * Returns the content of a body that the server accepts and sends as JSON or YAML. Without an example, tools generate
 * one from the schema.
 */
export function objectContent(schema: OpenApiSchema, example?: object): Content {
  const content = { schema, ...(example === undefined ? {} : { example }) };
  return { 'application/json': content, 'application/yaml': content };
}

function responseReference(name: string): Response {
  return { $ref: `#/components/responses/${name}` };
}

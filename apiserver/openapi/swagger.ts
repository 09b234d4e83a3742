import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { Steps } from '../turns/steps.ts';
import { concatenated, joinMembers, jsonMembersOf } from './document-piece.ts';
import type { DocumentPiece } from './document-piece.ts';
import { tagsOf } from './document.ts';
import type { DocumentInfo } from './document.ts';
import { metaSchemas } from './meta-schemas.ts';
import type { OpenApiSchema, OpenApiOperation, Parameter, PathItem, RequestBody, Response } from './open-api.ts';
import { methods } from './open-api.ts';
import { OperationIds } from './operation-id.ts';
import { documentedErrors } from './responses.ts';
import { security, securityDefinitions } from './security-schemes.ts';

type Json = Readonly<Record<string, unknown>>;

// The keywords that Swagger 2.0 does not have. They are left out, so a field with only these keywords accepts any
// value.
const unknownKeywords: ReadonlySet<string> = new Set(['nullable', 'anyOf', 'oneOf', 'not', 'deprecated']);

/**
 * Returns the document of all kinds in Swagger 2.0, as JSON, for clients that do not know OpenAPI v3. The schemas have
 * the same names as in OpenAPI v3, but less detail. A piece is the part of the document for one kind, or for the
 * endpoints of a group version; this generator yields several times for each piece.
 */
export function* swaggerOf(info: DocumentInfo, pieces: readonly DocumentPiece[]): Steps<Buffer> {
  const ids = new OperationIds();
  const paths: Buffer[] = [];
  const definitions: Buffer[] = [];
  for (const piece of pieces) {
    yield;
    paths.push(Buffer.from(jsonMembersOf(mapValues(ids.unique(piece.paths), pathItem))));
    yield;
    const schemas = JSON.parse(`{${piece.schemas.toString()}}`) as Readonly<Record<string, OpenApiSchema>>;
    yield;
    const plain = mapValues(schemas, plainSchema);
    yield;
    definitions.push(Buffer.from(jsonMembersOf(plain)));
  }
  definitions.push(Buffer.from(jsonMembersOf(mapValues(metaSchemas, plainSchema))));
  yield;
  return yield* concatenated([
    Buffer.from(
      `{${jsonMembersOf({ swagger: '2.0', info, security, securityDefinitions, tags: tagsOf(pieces) })},"paths":{`,
    ),
    ...joinMembers(paths),
    Buffer.from('},"definitions":{'),
    ...joinMembers(definitions),
    Buffer.from(`},"responses":${JSON.stringify(mapValues(documentedErrors, response))}}`),
  ]);
}

function pathItem({ parameters, ...item }: PathItem): Json {
  const operations = methods.flatMap((method) => {
    const each = item[method];
    return each === undefined ? [] : [[method, operation(each)] as const];
  });
  return {
    ...(parameters === undefined ? {} : { parameters: parameters.map(parameter) }),
    ...Object.fromEntries(operations),
  };
}

function operation({ parameters = [], requestBody, responses, ...rest }: OpenApiOperation): Json {
  const body = requestBody === undefined ? [] : [bodyParameter(requestBody)];
  return {
    ...rest,
    ...(requestBody === undefined ? {} : { consumes: Object.keys(requestBody.content) }),
    produces: ['application/json', 'application/yaml'],
    parameters: [...parameters.map(parameter), ...body],
    responses: mapValues(responses, response),
  };
}

function parameter({ schema, ...rest }: Parameter): Json {
  return { ...rest, ...plainSchema(schema) };
}

/**
 * Returns the parameter for a body. In Swagger 2.0, all media types of a body share one schema. The media types of a
 * patch have different schemas, so its schema here accepts any value.
 */
function bodyParameter({ required, content }: RequestBody): Json {
  const schemas = new Set(Object.values(content).map(({ schema }) => JSON.stringify(plainSchema(schema))));
  const [only = '{}'] = schemas.size === 1 ? schemas : [];
  return { name: 'body', in: 'body', required: required === true, schema: JSON.parse(only) as unknown };
}

function response(source: Response): Json {
  if ('$ref' in source) return { $ref: source.$ref.replace('#/components/responses/', '#/responses/') };
  const { description, headers, content = {} } = source;
  const schema = content['application/json']?.schema;
  return {
    description,
    ...(headers === undefined ? {} : { headers: mapValues(headers as Readonly<Record<string, Parameter>>, parameter) }),
    ...(schema === undefined ? {} : { schema: plainSchema(schema) }),
  };
}

function plainSchema(schema: OpenApiSchema): Json {
  const known = Object.entries(schema).filter(([keyword]) => !unknownKeywords.has(keyword));
  return Object.fromEntries(known.map(([keyword, value]) => [keyword, plainValue(keyword, value)]));
}

/**
 * Returns a keyword's value in the form of Swagger 2.0. Values that are not schemas (defaults, enums, examples) remain
 * unchanged.
 */
function plainValue(keyword: string, value: unknown): unknown {
  switch (keyword) {
    case '$ref':
      return String(value).replace('#/components/schemas/', '#/definitions/');
    case 'properties':
      return isJsonObject(value) ? mapValues(value, plainIfSchema) : value;
    case 'items':
    case 'additionalProperties':
      return plainIfSchema(value);
    case 'allOf':
      return Array.isArray(value) ? value.map(plainIfSchema) : value;
    default:
      return value;
  }
}

function plainIfSchema(value: unknown): unknown {
  return isJsonObject(value) ? plainSchema(value) : value;
}

function mapValues<T>(record: Readonly<Record<string, T>>, change: (value: T) => unknown): Json {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

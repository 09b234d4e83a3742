/** A schema object of OpenAPI 3.0. A schema with `$ref` has no other keyword. */
export type OpenApiSchema = Readonly<Record<string, unknown>>;

/** Returns a schema that refers to `#/components/schemas/<name>`. */
export function schemaReference(name: string): OpenApiSchema {
  return { $ref: `#/components/schemas/${name}` };
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly required?: true;
  readonly description?: string;
  readonly schema: OpenApiSchema;
}

/** Schemas by media type. */
export type Content = Readonly<Record<string, { readonly schema: OpenApiSchema; readonly example?: unknown }>>;

export interface RequestBody {
  readonly required?: true;
  readonly description?: string;
  readonly content: Content;
}

export type Response =
  | { readonly $ref: string }
  | { readonly description: string; readonly headers?: OpenApiSchema; readonly content?: Content };

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: RequestBody;
  /** The responses by status code, or `default`. */
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-kubernetes-action'?: string;
  readonly 'x-kubernetes-group-version-kind'?: OpenApiSchema;
}

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

export type Method = (typeof methods)[number];

export type PathItem = { readonly parameters?: readonly Parameter[] } & { readonly [M in Method]?: OpenApiOperation };

interface Tag {
  readonly name: string;
  readonly description: string;
}

/** The tags, paths and schemas that one part of the API adds to a document. */
export interface Fragment {
  readonly tags: readonly Tag[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly schemas: Readonly<Record<string, OpenApiSchema>>;
}

export interface OpenApiDocument {
  readonly openapi: '3.0.3';
  readonly info: { readonly title: string; readonly version: string };
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly Tag[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, OpenApiSchema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

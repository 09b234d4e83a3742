import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { EndpointRoute } from '../endpoints/serving/endpoint-route.ts';
import { allSteps } from '../turns/steps.ts';
import type { Fragment, Method, OpenApiSchema, OpenApiOperation, Parameter, PathItem } from './open-api.ts';
import { methods } from './open-api.ts';
import { operationId } from './operation-id.ts';
import { pathParameter } from './parameters.ts';
import { openApiSchema } from './open-api-schema.ts';
import { errorsOf } from './responses.ts';

/**
 * Returns the part of a document about endpoints of plugins (specification, section 4.3). If two routes have the same
 * method and path, the first one is shown, which is also the one that handles requests.
 */
export function endpointFragment(routes: readonly EndpointRoute[]): Fragment {
  const paths: Record<string, PathItem> = {};
  const known = new Map<string, string>();
  for (const route of routes) {
    const method = methods.find((each) => each === route.method.toLowerCase());
    if (method === undefined) continue;
    // Paths that differ only in the names of variables are shown as one path, with the names of the first route.
    const shape = route.path.replaceAll(/\{[^}]*\}/g, '{}');
    const path = known.get(shape) ?? route.path;
    known.set(shape, path);
    paths[path] = { ...itemOf(path), [method]: shownOperation(route, method, path), ...paths[path] };
  }
  const owners = [...new Set(routes.map(({ owner }) => owner))].sort();
  return {
    tags: owners.map((owner) => ({ name: tagOf(owner), description: 'Endpoints of the plugin.' })),
    paths,
    schemas: {},
  };
}

function itemOf(path: string): PathItem {
  const names = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name = '']) => name);
  return names.length === 0 ? {} : { parameters: [...new Set(names)].map((name) => pathParameter(name)) };
}

/**
 * Returns the operation of a route. If its summary or query cannot be written as JSON, omits summary, query, body and
 * response of the route, so that the document is still valid.
 */
function shownOperation(route: EndpointRoute, method: Method, path: string): OpenApiOperation {
  try {
    return JSON.parse(JSON.stringify(operationOf(route, method, path))) as OpenApiOperation;
  } catch {
    return operationOf({ method: route.method, path: route.path, owner: route.owner }, method, path);
  }
}

function operationOf(route: EndpointRoute, method: Method, path: string): OpenApiOperation {
  const { owner, summary, body, query, response } = route;
  const parameters = Object.entries(query ?? {}).map(([name, schema]): Parameter => {
    return { name, in: 'query', schema: schemaOf(schema) };
  });
  const answer = { description: 'The response of the endpoint.' };
  return {
    operationId: operationId(method, path),
    tags: [tagOf(owner)],
    ...(summary === undefined ? {} : { summary }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonContent(body) } }),
    responses: {
      '200': response === undefined ? answer : { ...answer, content: jsonContent(response) },
      ...errorsOf(),
    },
  };
}

function tagOf(owner: string): string {
  return `Plugin ${owner}`;
}

function jsonContent(schema: JsonSchema): { readonly 'application/json': { readonly schema: OpenApiSchema } } {
  return { 'application/json': { schema: schemaOf(schema) } };
}

/**
 * Returns the schema of an endpoint. Such a schema cannot refer to named schemas. A schema that cannot be written as
 * JSON, for example because it contains itself, is replaced, so that the document is still valid.
 */
function schemaOf(schema: JsonSchema): OpenApiSchema {
  try {
    const text = JSON.stringify(allSteps(openApiSchema(schema, () => undefined)));
    return JSON.parse(text) as OpenApiSchema;
  } catch (error) {
    return { description: `This schema cannot be shown: ${error instanceof Error ? error.message : String(error)}` };
  }
}
